//! HTTP on the relay's one address: the upgrade to WebSocket, and what browsers and monitors ask.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use fastwebsockets::upgrade::{UpgradeFut, is_upgrade_request, upgrade};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::config::Config;
use crate::conn;
use crate::hub::Hub;
use crate::limits::HTTP_BUFFER_BYTES_MAX;
use crate::mirror::MirrorStatus;
use crate::registry::Seat;
use crate::{landing, nip11};

type Answer = Response<Full<Bytes>>;

/// What HTTP answers with. The pages are made once, but for what mirrors say.
pub(crate) struct Site {
    document: Bytes,
    page: Bytes,
    handshake_max: Duration,
    mirrors: Vec<MirrorStatus>,
}

impl Site {
    pub(crate) fn new(config: &Config, mirrors: Vec<MirrorStatus>) -> Self {
        Self {
            document: nip11::document(config).into(),
            page: landing::page(config).into(),
            handshake_max: Duration::from_secs(config.server.handshake_s_max),
            mirrors,
        }
    }

    /// The page as it is at this moment.
    fn landing_page(&self) -> Bytes {
        if self.mirrors.is_empty() {
            return self.page.clone();
        }
        let lines: Vec<_> = self.mirrors.iter().map(MirrorStatus::line).collect();
        [&self.page[..], landing::mirrors(&lines).as_bytes()].concat().into()
    }
}

/// Serves one socket: HTTP for as long as [`Site::handshake_max`], then, if it asked for an
/// upgrade, WebSocket in a task of its own, so that HTTP's memory is given back.
///
/// The time-out is ours: hyper counts from a request's first byte, and only while headers are read
/// (case 55).
pub(crate) async fn serve(hub: Arc<Hub>, site: Arc<Site>, socket: TcpStream, seat: Seat) {
    let upgrading = Mutex::new(None);
    let service = service_fn(|mut request| {
        let answer = answer(&hub, &site, &mut request, &upgrading);
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(site.handshake_max)
        .max_buf_size(HTTP_BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(socket), service)
        .with_upgrades();
    match timeout(site.handshake_max, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return tracing::debug!(%error, "http failed"),
        Err(_) => return tracing::debug!("http took too long"),
    }
    let asked = upgrading.into_inner();
    if let Some(asked) = asked
        && let Some((socket, early)) = upgraded(asked).await
    {
        tokio::spawn(conn::run(hub, seat, socket, early));
    }
}

/// The socket itself, and what was read of it beyond the request: a copy, since even an empty view
/// of HTTP's buffer would keep its 8 kB.
async fn upgraded(asked: UpgradeFut) -> Option<(TcpStream, Bytes)> {
    let upgraded = asked.await.ok()?.into_inner().into_inner();
    let parts = upgraded.downcast::<TokioIo<TcpStream>>().ok()?;
    Some((parts.io.into_inner(), Bytes::copy_from_slice(&parts.read_buf)))
}

fn answer(
    hub: &Hub,
    site: &Site,
    request: &mut Request<Incoming>,
    upgrading: &Mutex<Option<UpgradeFut>>,
) -> Answer {
    let is_upgrade = is_upgrade_request(request);
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/") if is_upgrade => start_upgrade(request, upgrading),
        (_, _) if is_upgrade => text(StatusCode::NOT_FOUND, "the relay is at /\n"),
        (&Method::OPTIONS, "/") => with_cors(empty(StatusCode::NO_CONTENT)),
        (&Method::GET | &Method::HEAD, "/") if wants_document(request.headers()) => {
            with_cors(page(nip11::MEDIA_TYPE, site.document.clone()))
        }
        (&Method::GET | &Method::HEAD, "/") => {
            with_cors(page("text/html; charset=utf-8", site.landing_page()))
        }
        (&Method::GET, "/metrics") => {
            page("text/plain; version=0.0.4", hub.render_metrics().into())
        }
        (&Method::GET | &Method::HEAD, "/health") if hub.is_writable() => {
            text(StatusCode::OK, "ok\n")
        }
        (&Method::GET | &Method::HEAD, "/health") => {
            text(StatusCode::SERVICE_UNAVAILABLE, "the store takes no events\n")
        }
        (_, "/" | "/metrics" | "/health") => empty(StatusCode::METHOD_NOT_ALLOWED),
        _ => text(StatusCode::NOT_FOUND, "nothing here; the relay is at /\n"),
    }
}

/// Accepts a WebSocket. No extension is ever accepted: the frame reader knows none.
fn start_upgrade(request: &mut Request<Incoming>, upgrading: &Mutex<Option<UpgradeFut>>) -> Answer {
    const VERSION: HeaderValue = HeaderValue::from_static("13");
    if request.headers().get(header::SEC_WEBSOCKET_VERSION) != Some(&VERSION) {
        let mut answer = empty(StatusCode::UPGRADE_REQUIRED);
        answer.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, VERSION);
        return answer;
    }
    match upgrade(request) {
        Ok((answer, asked)) => {
            *upgrading.lock() = Some(asked);
            answer.map(|_| Full::default())
        }
        Err(_) => text(StatusCode::BAD_REQUEST, "not a WebSocket handshake\n"),
    }
}

fn wants_document(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(nip11::is_accepted))
}

/// R11-02: the document is for every page of every site.
fn with_cors(mut answer: Answer) -> Answer {
    let headers = answer.headers_mut();
    let any = HeaderValue::from_static("*");
    let methods = HeaderValue::from_static("GET, HEAD, OPTIONS");
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any.clone());
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, any);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    answer
}

fn page(media_type: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

fn text(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = page("text/plain; charset=utf-8", Bytes::from_static(text.as_bytes()));
    *answer.status_mut() = status;
    answer
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}
