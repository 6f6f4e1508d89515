//! `admin`: gives an order to a running relay (NIP-86), signed with the operator's key (NIP-98).

use std::time::Duration;

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header::HeaderValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use zeolite_mirror::{Connector, RelayAddress, Tls};
use zeolite_proto::Kind;

use super::{Exit, output};
use crate::cli::AdminArgs;
use crate::clock;
use crate::random::random_bytes;
use crate::secret_key::SecretKey;

/// The variable that may hold the key.
const KEY_VARIABLE: &str = "ZEOLITE_ADMIN_KEY";

/// An HTTP request that is signed (NIP-98).
const HTTP_AUTH: Kind = Kind(27_235);

/// How long the relay may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Runs the command.
pub(crate) fn run(args: &AdminArgs) -> anyhow::Result<Exit> {
    let address = RelayAddress::parse(&args.url)?;
    let key = read_key(args)?;
    let body = body(&args.method, &args.params).to_string();
    let token = token(&key, &args.url, body.as_bytes());
    let token = HeaderValue::from_str(&token).context("the token is base64")?;
    let tls = address.is_tls().then(|| Tls::new(args.ca.as_deref())).transpose()?;
    let connector = Connector { tls, connect_max: ANSWER_MAX, message_bytes_max: 0 };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (status, answer) = runtime.block_on(connector.order(&address, token, body.into()))?;
    report(&address, status, &answer)
}

fn read_key(args: &AdminArgs) -> anyhow::Result<SecretKey> {
    match &args.key {
        Some(path) => SecretKey::read_private(path),
        None => {
            SecretKey::parse(&std::env::var(KEY_VARIABLE).with_context(|| {
                format!("no key: name its file with --key, or set {KEY_VARIABLE}")
            })?)
        }
    }
}

/// Kinds, and the color and order of a role, are numbers; everything else is text.
fn body(method: &str, params: &[String]) -> Value {
    let first_number = match method {
        "allowkind" | "disallowkind" => 0,
        "createrole" | "editrole" => 3,
        _ => usize::MAX,
    };
    let params = params.iter().enumerate().map(|(at, param)| match param.parse::<i64>() {
        Ok(number) if at >= first_number => json!(number),
        _ => json!(param),
    });
    json!({ "method": method, "params": params.collect::<Vec<_>>() })
}

/// The value of the `Authorization` header.
fn token(key: &SecretKey, url: &str, body: &[u8]) -> String {
    let payload = faster_hex::hex_string(&Sha256::digest(body));
    // A relay takes an authorisation once; the same order in the same second needs another.
    let once = faster_hex::hex_string(&random_bytes::<8>());
    let tags = json!([["u", url], ["method", "POST"], ["payload", payload], ["nonce", once]]);
    let (_, event) = key.sign(HTTP_AUTH, &tags, clock::now());
    format!("Nostr {}", STANDARD.encode(event.to_string()))
}

fn report(address: &RelayAddress, status: StatusCode, answer: &[u8]) -> anyhow::Result<Exit> {
    let Ok(mut answer) = serde_json::from_slice::<Value>(answer) else {
        bail!(
            "{address} answered {status} and no JSON: it may offer no administration, which needs its \
             setting admin.pubkeys"
        );
    };
    if let Some(error) = answer["error"].as_str() {
        bail!("{address} refused: {error}");
    }
    match answer["result"].take() {
        Value::Array(entries) => {
            output::print(entries.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"))?;
        }
        Value::Bool(true) => output::print("done")?,
        other => output::print(other)?,
    }
    Ok(Exit::Done)
}
