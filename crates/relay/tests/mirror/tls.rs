//! An upstream behind TLS, on loopback, with a certificate authority of its own.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::support::{BASE, Mirror, Relay, notes, publish};

/// Puts TLS in front of a relay. Gives the URL, and writes the authority into a file.
async fn terminate(relay: &str, ca: &Path) -> String {
    let names = vec!["localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate can be made");
    std::fs::write(ca, made.cert.pem()).expect("a file can be written");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has them")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("the key fits");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let target = relay.trim_start_matches("ws://").to_owned();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, target) = (acceptor.clone(), target.clone());
            tokio::spawn(async move {
                // Who does not trust the certificate hangs up here.
                let Ok(mut client) = acceptor.accept(socket).await else { return };
                let mut relay = TcpStream::connect(target).await.expect("the relay listens");
                _ = tokio::io::copy_bidirectional(&mut client, &mut relay).await;
            });
        }
    });
    format!("wss://localhost:{port}")
}

/// wss:// works with a certificate that is trusted, and with no other.
#[test]
fn an_upstream_behind_tls_is_mirrored_if_it_is_trusted() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let relay = Relay::start("");
    publish(&relay.url, &notes(41, BASE, 600));
    let mirror = Mirror::new();
    let ca = mirror.0.path().join("ca.pem");
    let url = runtime.block_on(terminate(&relay.url, &ca));
    let summary = mirror.ok(&url, &["--once", "--ca", "ca.pem"]);
    assert_eq!(summary["stored"], 600, "{summary}");
    let doubting = Mirror::new();
    let ran = doubting.run(&url, &["--once"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let missing = doubting.run(&url, &["--once", "--ca", "missing.pem"]);
    assert_ne!(missing.code, Some(0), "{missing:?}");
    assert!(missing.stderr.contains("missing.pem"), "{missing:?}");
}
