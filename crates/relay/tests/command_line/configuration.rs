//! Settings and usage, as the user meets them.

use crate::support::{Place, read};

/// Flags win over the environment, the environment over the file; the output says so and is a
/// file that gives the same settings.
#[test]
fn the_effective_configuration_is_printed() {
    let place = Place::new();
    place.write("z.toml", b"db = \"file\"\n[query]\nmax_limit = 700\ndefault_limit = 70\n");
    let mut command = place.command("config --config z.toml --set query.max_limit=900");
    command.env("ZEOLITE_DB", "variable").env("ZEOLITE_QUERY_MAX_LIMIT", "800");
    let output = command.output().expect("the program runs");
    let text = String::from_utf8(output.stdout).expect("text");
    for line in [
        "listen = \"127.0.0.1:7447\" # default",
        "db = \"variable\" # environment ZEOLITE_DB",
        "max_limit = 900 # flag --set",
        "default_limit = 70 # z.toml:4",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line} in {text}");
    }
    place.write("again.toml", text.as_bytes());
    let again = place.ok("config --config again.toml").stdout;
    let values = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split(" # ").next().unwrap_or(line).to_owned()).collect()
    };
    assert_eq!(values(&again), values(&text));
}

/// A wrong setting or line is refused with exit code 2 and its reason, before anything is made.
#[test]
fn wrong_settings_are_refused() {
    let place = Place::new();
    place.write("bad.toml", b"\nlisen = \"127.0.0.1:1\"\n");
    for (line, variable, reason) in [
        ("serve --config bad.toml", None, "bad.toml:2: unknown key lisen"),
        ("serve --config none.toml", None, "cannot read none.toml"),
        ("serve --listen here", None, "flag --listen: listen must be"),
        ("serve --set limits.filters_max", None, "expected KEY=VALUE"),
        ("serve --set limits.filters_max=0", None, "limits.filters_max must be"),
        ("stats", Some(("ZEOLITE_DBB", "x")), "environment ZEOLITE_DBB: no such setting"),
        ("stats", Some(("ZEOLITE_CONFIG", "bad.toml")), "bad.toml:2"),
        ("--listen 127.0.0.1:1 stats", None, "for serve only"),
        ("exprot", None, "unrecognized subcommand"),
    ] {
        let mut command = place.command(line);
        command.envs(variable);
        let output = command.output().expect("the program runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert!(stderr.contains(reason), "{line}: no {reason:?} in {stderr}");
    }
    assert!(!place.path("zeolite-data").exists());
}

/// The table of settings in the operator's manual is the one that the program has.
#[test]
fn the_manual_lists_every_setting() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manual = read(&root.join("docs/operations.md"));
    let reference = zeolite_relay::config::reference();
    assert!(manual.contains(&reference), "put this into docs/operations.md:\n{reference}");
}
