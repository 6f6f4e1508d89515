//! Trust in TLS certificates.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// The certificate authorities that upstreams are believed by. Cheap to clone.
#[derive(Clone)]
pub struct Tls(Arc<ClientConfig>);

/// Why no TLS connection can be made.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file of additional authorities cannot be read.
    #[error("cannot read certificates from {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rustls::pki_types::pem::Error,
    },
    /// It holds something that is no authority.
    #[error("{} holds no usable certificate authority: {source}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// There is nobody to trust.
    #[error("the system has no certificate authorities; name a file of them with --ca")]
    NoAuthorities,
    /// TLS itself cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Unsupported(rustls::Error),
}

impl Tls {
    /// Trusts the system's authorities, and those in `extra`, a file of PEM certificates.
    ///
    /// # Errors
    ///
    /// If `extra` cannot be used, or there is no authority at all.
    pub fn new(extra: Option<&Path>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        // An authority of the system that cannot be read is not trusted, and that is all.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(path) = extra {
            add(&mut roots, path)?;
        }
        if roots.is_empty() {
            return Err(TlsError::NoAuthorities);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Unsupported)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }

    pub(crate) fn connector(&self) -> tokio_rustls::TlsConnector {
        tokio_rustls::TlsConnector::from(Arc::clone(&self.0))
    }
}

fn add(roots: &mut RootCertStore, path: &Path) -> Result<(), TlsError> {
    let unreadable = |source| TlsError::Unreadable { path: path.to_owned(), source };
    let certificates = CertificateDer::pem_file_iter(path).map_err(unreadable)?;
    let mut is_empty = true;
    for certificate in certificates {
        let unusable = |source| TlsError::Unusable { path: path.to_owned(), source };
        roots.add(certificate.map_err(unreadable)?).map_err(unusable)?;
        is_empty = false;
    }
    if is_empty {
        let source = rustls::pki_types::pem::Error::Io(io::ErrorKind::UnexpectedEof.into());
        return Err(unreadable(source));
    }
    Ok(())
}
