//! From an address to an open WebSocket.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE, USER_AGENT,
};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use super::information::{INFORMATION_BYTES_MAX, RelayInformation};
use super::tls::{Tls, TlsError};
use super::{Reader, Writer};
use crate::address::RelayAddress;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// TLS cannot be spoken at all.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The host cannot be found or does not take connections.
    #[error("cannot connect to {address}: {source}")]
    Unreachable {
        /// Host and port.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The host's certificate is not trusted, or it speaks no TLS.
    #[error("no TLS connection to {address}: {source}")]
    Untrusted {
        /// The relay.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The host hangs up, or does not speak HTTP.
    #[error("{address} does not speak HTTP: {source}")]
    NoHttp {
        /// The relay.
        address: String,
        /// Why.
        source: hyper::Error,
    },
    /// The host speaks HTTP, and no WebSocket at this path.
    #[error("{address} is no relay: it answers {status} where a WebSocket is asked for")]
    NoRelay {
        /// The relay.
        address: String,
        /// What it answers.
        status: StatusCode,
    },
    /// Nothing of it came in time.
    #[error("{address} did not answer within {} s", limit.as_secs())]
    TimedOut {
        /// The relay.
        address: String,
        /// How long it had.
        limit: Duration,
    },
}

/// Connects to relays.
#[derive(Clone)]
pub struct Connector {
    /// For `wss://`; `None` makes those addresses fail.
    pub tls: Option<Tls>,
    /// How long a connection, its upgrade included, may take to make.
    pub connect_max: Duration,
    /// The longest message taken from a relay.
    pub message_bytes_max: usize,
}

impl Connector {
    /// Opens a WebSocket.
    ///
    /// # Errors
    ///
    /// If it cannot be opened in time.
    pub async fn open(&self, address: &RelayAddress) -> Result<(Reader, Writer), ConnectError> {
        self.in_time(address, self.upgrade(address)).await
    }

    /// Asks for the information document (NIP-11). A relay that has none is fine.
    ///
    /// # Errors
    ///
    /// If the relay cannot be reached in time.
    pub async fn information(
        &self,
        address: &RelayAddress,
    ) -> Result<RelayInformation, ConnectError> {
        self.in_time(address, self.ask_information(address)).await
    }

    async fn in_time<T>(
        &self,
        address: &RelayAddress,
        work: impl Future<Output = Result<T, ConnectError>>,
    ) -> Result<T, ConnectError> {
        let limit = self.connect_max;
        let late = |_| ConnectError::TimedOut { address: address.to_string(), limit };
        timeout(limit, work).await.map_err(late)?
    }

    async fn dial(&self, address: &RelayAddress) -> Result<Stream, ConnectError> {
        let unreachable = |source| ConnectError::Unreachable {
            address: format!("{}:{}", address.host(), address.port()),
            source,
        };
        let stream = TcpStream::connect((address.host(), address.port()));
        let stream = stream.await.map_err(unreachable)?;
        // Without it a message that has no answer holds back the next one (case 57).
        stream.set_nodelay(true).map_err(unreachable)?;
        if !address.is_tls() {
            return Ok(Stream::Plain(stream));
        }
        let untrusted = |source| ConnectError::Untrusted { address: address.to_string(), source };
        let name = ServerName::try_from(address.host().to_owned());
        let name = name.map_err(|error| untrusted(io::Error::other(error)))?;
        let tls = self.tls.as_ref().ok_or(TlsError::NoAuthorities)?;
        let stream = tls.connector().connect(name, stream).await.map_err(untrusted)?;
        Ok(Stream::Tls(Box::new(stream)))
    }

    async fn upgrade(&self, address: &RelayAddress) -> Result<(Reader, Writer), ConnectError> {
        let key = fastwebsockets::handshake::generate_key();
        let headers = [
            (UPGRADE, HeaderValue::from_static("websocket")),
            (CONNECTION, HeaderValue::from_static("Upgrade")),
            (SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
            (SEC_WEBSOCKET_KEY, HeaderValue::try_from(key).expect("base 64 is plain text")),
        ];
        let request = request(Method::GET, headers.into_iter().collect(), Bytes::new());
        let response = self.send(address, request).await?;
        let status = response.status();
        let no_relay = || ConnectError::NoRelay { address: address.to_string(), status };
        if status != StatusCode::SWITCHING_PROTOCOLS {
            return Err(no_relay());
        }
        let upgraded = hyper::upgrade::on(response).await;
        let upgraded = upgraded.map_err(|source| no_http(address, source))?;
        let parts = upgraded.downcast::<TokioIo<Stream>>();
        let parts = parts.expect("the connection was made of this type");
        let (read, write) = match parts.io.into_inner() {
            Stream::Plain(stream) => {
                let (read, write) = stream.into_split();
                (Box::new(read) as _, Box::new(write) as _)
            }
            tls @ Stream::Tls(_) => {
                let (read, write) = tokio::io::split(tls);
                (Box::new(read) as _, Box::new(write) as _)
            }
        };
        let reader = Reader::new(read, &parts.read_buf, self.message_bytes_max);
        Ok((reader, Writer::new(write)))
    }

    async fn ask_information(
        &self,
        address: &RelayAddress,
    ) -> Result<RelayInformation, ConnectError> {
        let accept = (ACCEPT, HeaderValue::from_static("application/nostr+json"));
        let request = request(Method::GET, [accept].into_iter().collect(), Bytes::new());
        let response = self.send(address, request).await?;
        let body = Limited::new(response.into_body(), INFORMATION_BYTES_MAX).collect().await;
        // What breaks off or never ends is as good as no document.
        Ok(body.map(|body| RelayInformation::read(&body.to_bytes())).unwrap_or_default())
    }

    /// Sends an order to a relay (NIP-86): the status and the body of its answer.
    ///
    /// # Errors
    ///
    /// If the relay cannot be reached, or has not answered, in time.
    pub async fn order(
        &self,
        address: &RelayAddress,
        token: HeaderValue,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), ConnectError> {
        let rpc = HeaderValue::from_static("application/nostr+json+rpc");
        let headers = [(CONTENT_TYPE, rpc), (AUTHORIZATION, token)].into_iter().collect();
        let sending = async {
            let response = self.send(address, request(Method::POST, headers, body)).await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), ORDER_BYTES_MAX).collect().await;
            Ok((status, body.map(|body| body.to_bytes()).unwrap_or_default()))
        };
        self.in_time(address, sending).await
    }

    /// One request on a connection of its own.
    async fn send(
        &self,
        address: &RelayAddress,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<hyper::body::Incoming>, ConnectError> {
        let stream = self.dial(address).await?;
        let shake = http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await;
        let (mut sender, connection) = shake.map_err(|source| no_http(address, source))?;
        // It ends with the answer, or hands the socket over to whoever asked for the upgrade; its
        // error is the request's as well.
        tokio::spawn(async move { _ = connection.with_upgrades().await });
        *request.uri_mut() = address.path().parse().expect("the path was checked");
        let host = HeaderValue::from_str(address.authority()).expect("the host was checked");
        request.headers_mut().insert(HOST, host);
        let agent = HeaderValue::from_static(concat!("zeolite-mirror/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().insert(USER_AGENT, agent);
        sender.send_request(request).await.map_err(|source| no_http(address, source))
    }
}

/// The longest answer to an order that is read: a list of 100,000 keys with short reasons.
const ORDER_BYTES_MAX: usize = 16 << 20;

fn request(method: Method, headers: HeaderMap, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.headers_mut() = headers;
    request
}

fn no_http(address: &RelayAddress, source: hyper::Error) -> ConnectError {
    ConnectError::NoHttp { address: address.to_string(), source }
}

/// A connection with or without TLS.
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
