//! Precedence and refusals, as data.

use super::*;

fn layers(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Layers {
    let own = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
    Layers {
        file: Some(("zeolite.toml".to_owned(), file.to_owned())),
        environment: environment.iter().map(own).collect(),
        flags: flags.iter().map(|(k, v)| (k.to_string(), "--flag".into(), v.to_string())).collect(),
    }
}

/// The line of the printed configuration for this key.
fn shown(resolved: &Resolved, key: &str) -> String {
    let text = resolved.to_toml();
    let line = text.lines().find(|line| line.starts_with(&format!("{key} ")));
    line.unwrap_or_else(|| panic!("{key} is not in {text}")).to_owned()
}

/// These layers make the key look like this.
fn check(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)], expected: &str) {
    let resolved = resolve(layers(file, environment, flags)).expect(expected);
    let key = expected.split(' ').next().expect("a key");
    assert_eq!(shown(&resolved, key), expected);
}

/// Flags win over the environment, the environment over the file, the file over the default.
#[test]
fn layers_have_an_order() {
    let file = "db = \"file\"";
    let variable = &[("ZEOLITE_DB", "variable"), ("HOME", "x"), ("ZEOLITE_SEED", "7")][..];
    check("", &[], &[], "db = \"./zeolite-data\" # default");
    check(file, &[], &[], "db = \"file\" # zeolite.toml:1");
    check(file, variable, &[], "db = \"variable\" # environment ZEOLITE_DB");
    check(file, variable, &[("db", "flag")], "db = \"flag\" # flag --flag");
    check(file, &[], &[("db", "flag")], "db = \"flag\" # flag --flag");
}

/// Every form of value, in the file and as text.
#[test]
fn values_have_several_spellings() {
    let max = "[limits]\n\nmessage_bytes_max = ";
    for (text, expected) in [
        ("65536", "\"64 KiB\""),
        ("0x1_0000", "\"64 KiB\""),
        ("\"64KiB\"", "\"64 KiB\""),
        ("\"1 mib\"", "\"1 MiB\""),
        ("300_001", "300001"),
    ] {
        let line = format!("message_bytes_max = {expected} # zeolite.toml:3");
        let [small, large] = ["content_chars_max = 1000", "[live]\noutbox_bytes_max = \"64 MiB\""];
        check(&format!("{max}{text}\n{small}\n{large}"), &[], &[], &line);
    }
    let unlimited = [("query.default_limit", "unlimited"), ("query.max_limit", "unlimited")];
    check("", &[], &unlimited, "max_limit = \"unlimited\" # flag --flag");
    check("[query]\nmax_limit = 1_000", &[], &[], "max_limit = 1000 # zeolite.toml:2");
    check("query.max_limit = 1000", &[], &[], "max_limit = 1000 # zeolite.toml:1");
    let urls =
        "urls = [\"wss://a.example\", \"ws://b.example:7447\"] # environment ZEOLITE_RELAY_URLS";
    let variable = ("ZEOLITE_RELAY_URLS", "wss://a.example, ws://b.example:7447");
    check("", &[variable], &[], urls);
    check("relay.urls = []", &[], &[], "urls = [] # zeolite.toml:1");
    check(
        "[store]\ndurability = \"relaxed\"",
        &[],
        &[],
        "durability = \"relaxed\" # zeolite.toml:2",
    );
    check("[relay]\nname = 'a \"b\" \\'", &[], &[], "name = 'a \"b\" \\' # zeolite.toml:2");
    check("listen = \"[::1]:7447\"", &[], &[], "listen = \"[::1]:7447\" # zeolite.toml:1");
}

/// The layers are refused with these faults, in this order.
fn check_refused(
    file: &str,
    environment: &[(&str, &str)],
    flags: &[(&str, &str)],
    faults: &[&str],
) {
    let error = resolve(layers(file, environment, flags)).expect_err(file);
    let found: Vec<_> = error.0.iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), faults.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(faults) {
        assert!(found.starts_with(expected), "{found:?} is not {expected:?}");
    }
}

/// A key that nobody knows is an error with its line, never ignored.
#[test]
fn unknown_names_are_refused() {
    check_refused("lissten = 1", &[], &[], &["zeolite.toml:1: unknown key lissten"]);
    check_refused(
        "\n[limit]\nfilters_max = 1",
        &[],
        &[],
        &["zeolite.toml:3: unknown key limit.filters_max; did you mean limits.filters_max?"],
    );
    check_refused("[store.more]\nx = 1", &[], &[], &["zeolite.toml:2: unknown key store.more.x"]);
    check_refused("[[relay]]\nname = \"x\"", &[], &[], &["zeolite.toml:1: unknown key relay"]);
    check_refused("db.x = 1", &[], &[], &["zeolite.toml:1: db must be a path"]);
    check_refused(
        "",
        &[("ZEOLITE_LISTN", "x")],
        &[],
        &["environment ZEOLITE_LISTN: no such setting"],
    );
    check_refused("", &[], &[("dbb", "x")], &["flag --flag: unknown key dbb"]);
    check_refused("a = 1\na = 2", &[], &[], &["zeolite.toml:2: duplicate key"]);
    check_refused("\n\nlisten = ", &[], &[], &["zeolite.toml:3: "]);
}

/// Values without sense are refused with key, position and reason; all of them at once.
#[test]
fn senseless_values_are_refused() {
    for (key, value, reason) in [
        ("listen", "localhost", "must be an IP address and a port"),
        ("listen", "", "must be an IP address and a port"),
        ("db", " ", "must be a path"),
        ("log", "loud=very=much", "must be a level"),
        ("relay.pubkey", "npub1x", "must be 64 lower-case hex digits"),
        ("relay.contact", "me", "must be a URI"),
        ("relay.icon", "icon.png", "must be an http or https URL"),
        ("relay.urls", "wss://a.example,relay", "entry must be a ws or wss URL"),
        ("server.connections_max", "0", "must be an integer from 1 to"),
        ("server.worker_threads", "0", "must be an integer from 1 to 1024, or \"auto\""),
        ("store.durability", "safe", "must be \"durable\" or \"relaxed\" or \"fast\""),
        ("store.map_bytes", "10", "must be a size from 1 MiB"),
        ("store.map_bytes", "10 GB", "must be a size"),
        ("limits.filters_max", "-1", "must be an integer"),
        ("limits.filters_max", "1.5", "must be an integer"),
        ("limits.message_bytes_max", "0", "must be a size"),
        ("limits.created_at_future_s_max", "soon", "must be an integer"),
        ("query.max_limit", "0", "must be an integer"),
        ("query.max_limit", "99999999999999999999", "must be an integer"),
    ] {
        let fault = format!("flag --flag: {key} {reason}");
        check_refused("", &[], &[(key, value)], &[&fault]);
    }
    check_refused(
        "listen = 5\n[relay]\nname = true\nurls = [1]",
        &[],
        &[],
        &[
            "zeolite.toml:1: listen must be",
            "zeolite.toml:3: relay.name must be",
            "zeolite.toml:4: relay.urls entry must be",
        ],
    );
}

/// Values that contradict one another are refused where they were set.
#[test]
fn contradictions_are_refused() {
    check_refused(
        "[query]\nmax_limit = 100",
        &[],
        &[],
        &["default: query.default_limit is above query.max_limit"],
    );
    check_refused(
        "[query]\ndefault_limit = \"unlimited\"",
        &[],
        &[],
        &["zeolite.toml:2: query.default_limit is above query.max_limit"],
    );
    check_refused(
        "[live]\noutbox_bytes_max = 2000",
        &[],
        &[],
        &["zeolite.toml:2: live.outbox_bytes_max is below limits.message_bytes_max"],
    );
    check_refused(
        "[limits]\ncontent_chars_max = 1_000_000",
        &[],
        &[],
        &["zeolite.toml:2: limits.content_chars_max is above limits.message_bytes_max"],
    );
    check_refused(
        "[store]\nmap_bytes = \"16 MiB\"",
        &[],
        &[],
        &["default: store.head_bytes_max is above"],
    );
}

/// What is printed is a configuration file that gives the same configuration.
#[test]
fn the_printed_configuration_is_a_configuration() {
    let pubkey = "ab".repeat(32);
    let flags = [
        ("relay.name", "The \"relay\""),
        ("relay.pubkey", &pubkey),
        ("relay.urls", "wss://a.example"),
        ("server.worker_threads", "3"),
        ("limits.created_at_past_s_max", "100"),
    ];
    let first = resolve(layers("", &[], &flags)).expect("it is sensible");
    let second = resolve(layers(&first.to_toml(), &[], &[])).expect("it is a configuration");
    assert_eq!(second.config, first.config);
}

/// The defaults are sensible, and every key shows and reads its own default.
#[test]
fn defaults_are_sensible() {
    let resolved = resolve(Layers::default()).expect("the defaults are sensible");
    assert_eq!(resolved.config, Config::default());
    let variables: std::collections::HashSet<_> =
        keys::KEYS.iter().map(|key| key.variable()).collect();
    assert_eq!(variables.len(), keys::KEYS.len(), "two keys share a variable");
}

/// `[[mirror]]` entries are read whole and shown again; their filters are as strict as a client's,
/// since a misspelt member would match more than was meant (case 25).
#[test]
fn mirrors_are_read_and_refused() {
    let file = "[[mirror]]\nurl = \"wss://Relay.example/\"\ndir = \"both\"\n\
                filter = '{\"kinds\":[1,0]}'\nsince = 5\nmode = \"req\"\ntrust = true\n\
                [[mirror]]\nurl = \"ws://127.0.0.1:7447\"\nname = \"local\"";
    let resolved = resolve(layers(file, &[], &[])).expect("two good mirrors");
    let [first, second] = &resolved.config.mirrors[..] else { panic!("two mirrors") };
    assert_eq!((&*first.name, &*second.name), ("relay.example", "local"));
    assert_eq!(first.filter.since.map(|time| time.0), Some(5));
    assert!(first.is_trusted && !second.is_trusted);
    let again = resolve(layers(&resolved.to_toml(), &[], &[])).expect("what is shown is readable");
    assert_eq!(again.config, resolved.config);
    let url = "[[mirror]]\nurl = \"ws://a\"";
    for (text, fault) in [
        ("[[mirror]]", "zeolite.toml:1: mirror: url is missing".to_owned()),
        (
            "[mirror]\nurl = \"ws://a\"",
            "zeolite.toml:1: mirror must be written as [[mirror]]".into(),
        ),
        ("mirror = 1", "zeolite.toml:1: mirror must be written as [[mirror]]".into()),
        ("[[mirror]]\nurl = \"a\"", "zeolite.toml:2: mirror.url must be a ws or wss URL".into()),
        (&format!("{url}\nurls = 1"), "zeolite.toml:3: unknown key mirror.urls".into()),
        (
            &format!("{url}\nfilter = '{{\"kind\":[1]}}'"),
            "zeolite.toml:3: mirror.filter is not".into(),
        ),
        (
            &format!("{url}\nfilter = '{{\"limit\":1}}'"),
            "zeolite.toml:3: mirror.filter is not".into(),
        ),
        (
            &format!("{url}\nfilter = {{ kinds = [1] }}"),
            "zeolite.toml:3: mirror.filter must be".into(),
        ),
        (&format!("{url}\ntrust = \"yes\""), "zeolite.toml:3: mirror.trust must be true or".into()),
        (
            &format!("{url}\nsince = 5\nuntil = 4"),
            "zeolite.toml:1: mirror: the filter matches no".into(),
        ),
        (&format!("{url}\n{url}"), "zeolite.toml:3: mirror.name \"a\" is there twice".into()),
    ] {
        check_refused(text, &[], &[], &[&fault]);
    }
}

/// `[[retention]]` tables are read in their order and shown again.
#[test]
fn retention_is_read_and_refused() {
    let key = "ab".repeat(32);
    let file = format!(
        "store.events_bytes_max = \"2 GiB\"\n[[retention]]\nauthors = [\"{key}\"]\n\
         [[retention]]\nkinds = [7, \"1000-1999\"]\nage_s_max = 604800\n\
         [[retention]]\nage_s_max = 86400\nexcept_kinds = [\"30000-39999\"]"
    );
    let resolved = resolve(layers(&file, &[], &[])).expect("good rules");
    let retention = &resolved.config.policy.rules.retention;
    assert_eq!(retention.bytes_max, Some(2 << 30));
    let said: Vec<_> = retention.rules.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "all kinds of 1 authors: kept for good",
            "kinds 7, 1000-1999: older than 604800 s",
            "all kinds but 30000-39999: older than 86400 s"
        ]
    );
    let again = resolve(layers(&resolved.to_toml(), &[], &[])).expect("what is shown is readable");
    assert_eq!(again.config, resolved.config);
    for (text, fault) in [
        ("[[retention]]", "zeolite.toml:1: retention: it says nothing"),
        ("[[retention]]\nkinds = [1]\nage = 5", "zeolite.toml:3: unknown key retention.age"),
        ("[[retention]]\nage_s_max = 0", "zeolite.toml:2: retention.age_s_max must be"),
        ("[[retention]]\nkinds = [\"9-1\"]", "zeolite.toml:2: retention.kinds must be a list"),
        (
            "[[retention]]\nkinds = [1, 5]\nage_s_max = 5",
            "zeolite.toml:1: retention: events of kind 5 are always kept",
        ),
        (
            "[retention]\nage_s_max = 5",
            "zeolite.toml:1: retention must be written as [[retention]]",
        ),
        (
            "store.events_bytes_max = \"2 TiB\"",
            "zeolite.toml:1: store.events_bytes_max is above store.map_bytes",
        ),
    ] {
        check_refused(text, &[], &[], &[fault]);
    }
}

/// `[[kind]]` tables and lists of kinds and keys are read whole and shown again.
#[test]
fn rules_are_read_and_refused() {
    let key = "ab".repeat(32);
    let file = format!(
        "policy.kinds_denied = [4, \"7\"]\npolicy.authors = [\"{key}\"]\n\
         [[kind]]\nkind = 1\ncontent_bytes_max = 500\n[[kind]]\nkind = 7\nage_s_max = 60"
    );
    let resolved = resolve(layers(&file, &[], &[])).expect("good rules");
    let rules = &resolved.config.policy.rules;
    assert_eq!(rules.kinds_denied.iter().map(|kind| kind.0).collect::<Vec<_>>(), [4, 7]);
    assert_eq!(rules.authors_allowed.len(), 1);
    assert_eq!(rules.kinds.len(), 2);
    let again = resolve(layers(&resolved.to_toml(), &[], &[])).expect("what is shown is readable");
    assert_eq!(again.config, resolved.config);
    let environment = resolve(layers("", &[("ZEOLITE_POLICY_KINDS", "1, 7")], &[]));
    assert_eq!(environment.expect("a list").config.policy.rules.kinds_allowed.len(), 2);
    for (text, fault) in [
        ("[[kind]]", "zeolite.toml:1: kind: kind is missing"),
        ("[[kind]]\nkind = 70000", "zeolite.toml:2: kind.kind must be"),
        ("[[kind]]\nkind = 1\n[[kind]]\nkind = 1", "zeolite.toml:3: kind.kind 1 is there twice"),
        ("[[kind]]\nkind = 1\ntags = 3", "zeolite.toml:3: unknown key kind.tags"),
        ("policy.kinds = [70000]", "zeolite.toml:1: policy.kinds must be a list, each a kind"),
        ("policy.authors = [\"npub1\"]", "zeolite.toml:1: policy.authors must be a list, each 64"),
        ("policy.kinds = [1.5]", "zeolite.toml:1: policy.kinds must be a list"),
    ] {
        check_refused(text, &[], &[], &[fault]);
    }
}
