//! `admin`: an operator's orders to a running relay, with a key from a file or the environment.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Place, Ran};

/// NIP-19's own example of a secret key, in both forms, and its public key.
const SECRET: &str = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa";
const NSEC: &str = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5";
const PUBLIC: &str = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e";

/// R86-02 to R86-04, R98-01, R98-02: orders are signed, carried out and shown; each is good for once,
/// so that two equal ones in a row are two. A file that others may read is no place for a key, and
/// nothing that is said repeats the key.
#[test]
fn orders_are_signed_and_carried_out() {
    let place = Place::new();
    place.write("zeolite.toml", format!("[admin]\npubkeys = [\"{PUBLIC}\"]\n").as_bytes());
    place.write("admin.key", NSEC.as_bytes());
    let set_mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path("admin.key"), permissions).expect("it is ours");
    };
    let relay = place.serve("db --config zeolite.toml");
    let order = |method: &str| format!("admin --url {} --key admin.key {method}", relay.url);
    set_mode(0o600);
    let banned = "aa".repeat(32);
    for _ in 0..2 {
        assert_eq!(place.ok(&order(&format!("banpubkey {banned} spam"))).stdout, "done\n");
    }
    let listed = place.ok(&order("listbannedpubkeys")).stdout;
    assert!(listed.contains(&banned) && listed.contains("spam"), "{listed}");
    let refused = |ran: Ran, why: &str| {
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(why) && !ran.stderr.contains(NSEC), "{}", ran.stderr);
    };
    set_mode(0o640);
    refused(place.run(&order("listbannedpubkeys")), "chmod 600");
    let bare = format!("admin --url {} listbannedpubkeys", relay.url);
    refused(place.run(&bare), "ZEOLITE_ADMIN_KEY");
    let with_key = |key: &str| {
        let mut command = place.command(&bare);
        Ran::from(command.env("ZEOLITE_ADMIN_KEY", key).output().expect("the program runs"))
    };
    assert_eq!(with_key(SECRET).stdout, listed);
    refused(with_key(&"11".repeat(32)), "no administrator");
}

/// R86-03: roles from the command line, whose numbers are told apart from texts, also negative ones.
#[test]
fn roles_are_managed_from_the_command_line() {
    let place = Place::new();
    place.write("zeolite.toml", format!("[admin]\npubkeys = [\"{PUBLIC}\"]\n").as_bytes());
    let relay = place.serve("db --config zeolite.toml");
    let order = |order: &[&str]| {
        let mut command = place.command(&format!("admin --url {}", relay.url));
        let ran = command.args(order).env("ZEOLITE_ADMIN_KEY", SECRET).output();
        Ran::from(ran.expect("the program runs"))
    };
    let member = "aa".repeat(32);
    for words in [
        &["createrole", "mod", "7", "", "200", "-1"][..],
        &["createrole", "vip"],
        &["editrole", "vip", "VIP"],
        &["assignrole", &member, "vip"],
        &["assignrole", &member, "mod"],
        &["unassignrole", &member, "mod"],
    ] {
        let ran = order(words);
        assert_eq!(ran.stdout, "done\n", "{words:?}: {}", ran.stderr);
    }
    let refused = order(&["createrole", "mod"]);
    assert!(refused.stderr.contains("editrole changes it"), "{}", refused.stderr);
    let scan = |filter: &str| place.ok(&format!("scan --db db {filter}")).stdout;
    let told = scan("{\"kinds\":[33534]}");
    let tags = r#"["d","mod"],["label","7"],["color","200"],["order","-1"]"#;
    assert!(told.contains(tags), "{told}");
    let told = scan("{\"kinds\":[13534]}");
    assert!(told.contains(&format!(r#"[["-"],["member","{member}","vip"]]"#)), "{told}");
}
