//! HTTP probes.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::HTTPGetAction;
use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

/// Succeeds with a status from 200 to 399 (`HTTPGetAction`); certificates are not verified.
///
/// # Errors
/// What is wrong, in words for a person.
pub(crate) async fn get(host: &str, port: u16, action: &HTTPGetAction) -> Result<(), String> {
    let stream = TcpStream::connect((host, port)).await.map_err(|error| error.to_string())?;
    let request = request(host, port, action)?;
    let status = if action.scheme.as_deref() == Some("HTTPS") {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        let stream = connector()?.connect(name, stream).await.map_err(|error| error.to_string())?;
        exchange(stream, request).await
    } else {
        exchange(stream, request).await
    };
    match status.map_err(|error| error.to_string())? {
        200..400 => Ok(()),
        status => Err(format!("status {status}")),
    }
}

fn request(host: &str, port: u16, action: &HTTPGetAction) -> Result<Request<Empty<Bytes>>, String> {
    let path = action.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("/");
    let mut request = Request::get(path).header(header::HOST, format!("{host}:{port}"));
    if let Some(headers) = request.headers_mut() {
        headers.insert(header::USER_AGENT, HeaderValue::from_static("kube-probe/1.37"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        if action.http_headers.iter().flatten().any(|field| field.name.eq_ignore_ascii_case("host")) {
            headers.remove(header::HOST);
        }
    }
    for field in action.http_headers.iter().flatten() {
        request = request.header(&field.name, &field.value);
    }
    request.body(Empty::new()).map_err(|error| error.to_string())
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Empty<Bytes>>,
) -> hyper::Result<u16> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let mut answer = std::pin::pin!(sender.send_request(request));
    let mut connection = std::pin::pin!(connection);
    let answer = tokio::select! {
        answer = &mut answer => answer?,
        ended = &mut connection => {
            ended?;
            answer.await?
        }
    };
    Ok(answer.status().as_u16())
}

fn connector() -> Result<TlsConnector, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// A probe asks whether somebody answers, not who (`HTTPGetAction.scheme`: "the certificate is not
/// verified").
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
    use rustls::{ServerConfig, pki_types::PrivateKeyDer};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };
    use tokio_rustls::TlsAcceptor;

    use super::*;

    /// Answers one request, and gives its head.
    async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, status: &str) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let text = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        String::from_utf8(head).unwrap()
    }

    fn action(scheme: &str) -> HTTPGetAction {
        HTTPGetAction {
            path: Some("/ready?now".to_owned()),
            port: IntOrString::Int(0),
            scheme: Some(scheme.to_owned()),
            ..HTTPGetAction::default()
        }
    }

    #[tokio::test]
    async fn statuses_from_200_to_399_are_success() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for (status, expected) in [
            ("200 OK", Ok(())),
            ("302 Found", Ok(())),
            ("399 Odd", Ok(())),
            ("404 Not Found", Err("status 404".to_owned())),
            ("503 Service Unavailable", Err("status 503".to_owned())),
        ] {
            let serving = async { answer(listener.accept().await.unwrap().0, status).await };
            let action = action("HTTP");
            let (asked, head) = tokio::join!(get("127.0.0.1", port, &action), serving);
            assert_eq!(asked, expected);
            assert!(head.starts_with("GET /ready?now HTTP/1.1\r\n"), "{head}");
            assert!(head.contains(&format!("\r\nhost: 127.0.0.1:{port}\r\n")), "{head}");
        }
    }

    #[tokio::test]
    async fn any_certificate_will_do() {
        let certified = rcgen::generate_simple_self_signed(["other.example".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = async {
            let stream = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
            answer(stream, "200 OK").await
        };
        let action = action("HTTPS");
        let (asked, _) = tokio::join!(get("127.0.0.1", port, &action), serving);
        assert_eq!(asked, Ok(()));
    }
}
