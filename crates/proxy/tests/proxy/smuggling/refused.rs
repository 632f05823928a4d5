//! What must reach nobody: it could be framed in more than one way, or is no HTTP.

use super::Exchange;
use super::recorder::Message;

/// All of them.
pub(crate) fn exchanges() -> Vec<Exchange> {
    let lists =
        [lengths(), codings(), both(), lines(), names(), requests(), hosts(), chunks(), after_a_request()];
    lists.into_iter().flatten().collect()
}

/// What would be served if the framing were taken as someone might.
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

/// A POST with these lines, and a body that hides a request.
fn post(name: impl Into<String>, lines: &str) -> Exchange {
    Exchange::refused(name, format!("POST /r HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n0\r\n\r\n{SMUGGLED}"), 400)
}

/// RFC 9112 §6.3: a length is decimal digits.
fn lengths() -> Vec<Exchange> {
    let values = [
        "+5",
        "-5",
        "-0",
        "+0",
        "5 5",
        "5,5",
        "5, 5",
        "5, 6",
        "5;",
        "5;x",
        "0x5",
        "5x",
        "x5",
        "5.0",
        "5e0",
        "",
        " ",
        "\"5\"",
        "5\x0b",
        "\x0b5",
        "5\0",
        "\u{ff15}",
        "18446744073709551616",
        "99999999999999999999999",
        "1_0",
        "\u{a0}5",
    ];
    let single = values
        .into_iter()
        .map(|value| post(format!("Content-Length: {value:?}"), &format!("Content-Length: {value}")));
    let several = [
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 0\r\nContent-Length: 44",
        "Content-Length: 5\r\ncontent-length: 5",
        "Content-Length: 5\r\nX: y\r\nContent-Length: 5",
        "Content-Length:\r\nContent-Length: 5",
    ];
    single.chain(several.into_iter().map(|lines| post(format!("{lines:?}"), lines))).collect()
}

/// Only `chunked`, once, is a transfer coding here.
fn codings() -> Vec<Exchange> {
    let values = [
        "xchunked",
        "chunkedx",
        "chunke",
        "chunked, chunked",
        "chunked,chunked",
        "chunked,",
        ",chunked",
        "chunked ,",
        "chunked;q=1",
        "chunked; x",
        "identity",
        "identity, chunked",
        "chunked, identity",
        "gzip",
        "gzip, chunked",
        "chunked, gzip",
        "deflate",
        "\"chunked\"",
        "'chunked'",
        "chunked\0",
        "\0chunked",
        "chunked\x0b",
        "\x0bchunked",
        "\x0cchunked",
        "chun ked",
        "chunked chunked",
        "",
        "trailers",
        "compress, chunked",
        "\u{a0}chunked",
        "chunked\u{85}",
    ];
    let single = values
        .into_iter()
        .map(|value| post(format!("Transfer-Encoding: {value:?}"), &format!("Transfer-Encoding: {value}")));
    let several = [
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
        "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding:\r\nTransfer-Encoding: chunked",
        "transfer-encoding: chunked\r\nTRANSFER-ENCODING: chunked",
    ];
    let several = several.into_iter().map(|lines| post(format!("{lines:?}"), lines));
    // HTTP/1.0 knows no transfer codings: a proxy of that time would take the body for the next request.
    let old = format!("POST /r HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{SMUGGLED}");
    single.chain(several).chain([Exchange::refused("a coding in HTTP/1.0", old, 400)]).collect()
}

/// RFC 9112 §6.1: both framings are an attack.
fn both() -> Vec<Exchange> {
    let mut all = Vec::new();
    for length in ["0", "5", "44", "x"] {
        for coding in ["chunked", "Chunked", "identity", "x"] {
            let (length, coding) =
                (format!("Content-Length: {length}"), format!("Transfer-Encoding: {coding}"));
            all.push(post(format!("{length}, {coding}"), &format!("{length}\r\n{coding}")));
            all.push(post(format!("{coding}, {length}"), &format!("{coding}\r\n{length}")));
        }
    }
    all
}

/// RFC 9112 §2.2, §5.2: lines end with CR LF, and none is continued.
fn lines() -> Vec<Exchange> {
    let cases: [(&str, &str); 22] = [
        ("bare LF everywhere", "GET /r HTTP/1.1\nHost: a\n\n"),
        ("bare LF after the request line", "GET /r HTTP/1.1\nHost: a\r\n\r\n"),
        ("bare LF after a field", "GET /r HTTP/1.1\r\nHost: a\nX: y\r\n\r\n"),
        ("bare LF at the end", "GET /r HTTP/1.1\r\nHost: a\r\n\n"),
        ("bare LF in a value", "GET /r HTTP/1.1\r\nHost: a\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n"),
        ("bare CR in a value", "GET /r HTTP/1.1\r\nHost: a\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n"),
        ("bare CR after the request line", "GET /r HTTP/1.1\rHost: a\r\n\r\n"),
        ("bare CR before a line's end", "GET /r HTTP/1.1\r\nHost: a\r\r\n\r\n"),
        ("LF CR", "GET /r HTTP/1.1\r\nHost: a\n\r\n\r\n"),
        ("a continued value", "GET /r HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n"),
        ("a continued value by tab", "GET /r HTTP/1.1\r\nHost: a\r\nX: y\r\n\tz\r\n\r\n"),
        (
            "a continued coding",
            "POST /r HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        ),
        ("a continued length", "POST /r HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n 5\r\n\r\nhello"),
        ("space before the first field", "GET /r HTTP/1.1\r\n Host: a\r\n\r\n"),
        ("tab before the first field", "GET /r HTTP/1.1\r\n\tHost: a\r\n\r\n"),
        ("a line of spaces", "GET /r HTTP/1.1\r\nHost: a\r\n  \r\n\r\n"),
        ("a field without colon", "GET /r HTTP/1.1\r\nHost: a\r\nTransfer-Encoding chunked\r\n\r\n"),
        ("a field without name", "GET /r HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n"),
        ("NUL in a value", "GET /r HTTP/1.1\r\nHost: a\r\nX: y\0z\r\n\r\n"),
        ("escape in a value", "GET /r HTTP/1.1\r\nHost: a\r\nX: y\x1bz\r\n\r\n"),
        ("delete in a value", "GET /r HTTP/1.1\r\nHost: a\r\nX: y\x7fz\r\n\r\n"),
        ("vertical tab in a value", "GET /r HTTP/1.1\r\nHost: a\r\nX: y\x0bz\r\n\r\n"),
    ];
    cases.into_iter().map(|(name, bytes)| Exchange::refused(name, bytes, 400)).collect()
}

/// RFC 9110 §5.1: names are tokens, and nothing stands between name and colon.
fn names() -> Vec<Exchange> {
    let within = "\0\x01\t\x0b\x0c\x1b \"(),/;<=>?@[\\]{}\x7f".chars();
    let within = within.map(|c| format!("Trans{c}fer: y"));
    let around = [
        "Transfer-Encoding : chunked",
        "Transfer-Encoding\t: chunked",
        "Content-Length : 5",
        "Host : b",
        "X\0: y",
        "\u{e9}: y",
    ];
    let all = within.chain(around.into_iter().map(str::to_owned));
    all.map(|line| {
        Exchange::refused(format!("{line:?}"), format!("GET /r HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n"), 400)
    })
    .collect()
}

/// RFC 9112 §3: one space, a method that is a token, a target, a version.
fn requests() -> Vec<Exchange> {
    let lines = [
        "GET  /r HTTP/1.1",
        "GET /r  HTTP/1.1",
        "GET\t/r HTTP/1.1",
        "GET /r\tHTTP/1.1",
        " GET /r HTTP/1.1",
        "GET /r HTTP/1.1 ",
        "GET /r",
        "GET",
        "GET /r HTTP/1.1 x",
        "GET /r x HTTP/1.1",
        "GET /r http/1.1",
        "GET /r HTTP/1",
        "GET /r HTTP/1.1.1",
        "GET /r HTTP/11",
        "GET /r HTTP/01.1",
        "GET /r HTTP/ 1.1",
        "GET /r XTTP/1.1",
        "GET /r FTP/1.1",
        "G(T /r HTTP/1.1",
        "G\0T /r HTTP/1.1",
        "GÉT /r HTTP/1.1",
        "GET /r\0 HTTP/1.1",
        "GET /r\x7f HTTP/1.1",
        "GET /r#f HTTP/1.1",
        "GET r HTTP/1.1",
        "GET  HTTP/1.1",
        "GET * HTTP/1.1",
        "GET /%zz HTTP/1.1",
        "GET /% HTTP/1.1",
        "GET /%0 HTTP/1.1",
        "GET http:// HTTP/1.1",
        "GET http://a b/ HTTP/1.1",
        "GET //a@b:x/ HTTP/1.1\r\nHost: a@b",
    ];
    lines
        .into_iter()
        .map(|line| Exchange::refused(format!("{line:?}"), format!("{line}\r\nHost: a\r\n\r\n"), 400))
        .collect()
}

/// RFC 9112 §3.2: one Host, which is a host and perhaps a port.
fn hosts() -> Vec<Exchange> {
    let lines = [
        "",
        "Host: a\r\nHost: a\r\n",
        "Host: a\r\nHost: b\r\n",
        "Host: a\r\nhost: a\r\n",
        "Host: a b\r\n",
        "Host: a/b\r\n",
        "Host: b@a\r\n",
        "Host: a?b\r\n",
        "Host: a#b\r\n",
        "Host: a:b\r\n",
        "Host: a:99999\r\n",
        "Host: a:-1\r\n",
        "Host: [::1\r\n",
        "Host: ::1\r\n",
        "Host: a\\b\r\n",
        "Host: http://a\r\n",
        "Host: a:80:80\r\n",
    ];
    let all = lines
        .into_iter()
        .map(|lines| Exchange::refused(format!("{lines:?}"), format!("GET /r HTTP/1.1\r\n{lines}\r\n"), 400));
    all.collect()
}

/// RFC 9112 §7.1. The head is valid and on its way when the fault comes: the message never becomes whole, and what
/// follows is no request.
fn chunks() -> Vec<Exchange> {
    let bodies = [
        "5\nhello\r\n0\r\n\r\n",
        "5\rhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "\t5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "5x\r\nhello\r\n0\r\n\r\n",
        "g\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        ";a\r\nhello\r\n0\r\n\r\n",
        "5,\r\nhello\r\n0\r\n\r\n",
        "5\0\r\nhello\r\n0\r\n\r\n",
        "5.0\r\nhello\r\n0\r\n\r\n",
        "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        "10000000000000000\r\nhello\r\n0\r\n\r\n",
        "00000000000000000000000000000005\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello\r0\r\n\r\n",
        "5\r\nhelloworld\r\n0\r\n\r\n",
        "4\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n\r\n0\r\n\r\n",
        "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "5;a\rb\r\nhello\r\n0\r\n\r\n",
        "5;a\0\r\nhello\r\n0\r\n\r\n",
        "5;a=\"b\nc\"\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\n\r\n",
        "5\r\nhello\r\n0\r\n\n",
        "5\r\nhello\r\n0\r\nX: y\n\r\n",
        "5\r\nhello\r\n0\r\nX : y\r\n\r\n",
        "5\r\nhello\r\n0\r\n y\r\n\r\n",
        "5\r\nhello\r\n0\r\nX\r\n\r\n",
        "5\r\nhello\r\n0\r\nX: y\r\n z\r\n\r\n",
        "5\r\nhello\r\n0\r\nX: a\0b\r\n\r\n",
    ];
    let all = bodies.into_iter().map(|body| {
        let bytes =
            format!("POST /r HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{body}{SMUGGLED}");
        Exchange::refused(format!("chunks {body:?}"), bytes, 400)
    });
    all.collect()
}

/// A valid request is answered, and the fault after it ends the connection.
fn after_a_request() -> Vec<Exchange> {
    let cases = [
        ("a length that is none", "POST /r HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"),
        (
            "both framings",
            "POST /r HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
        ("bare LF", "GET /r HTTP/1.1\nHost: a\n\n"),
        ("a body that nobody announced", "hello\r\n\r\n"),
        ("a body that is a chunk", "0\r\n\r\n"),
    ];
    let first = "GET /0 HTTP/1.1\r\nHost: a\r\n\r\n";
    let all = cases.into_iter().map(|(name, bytes)| Exchange {
        served: vec![Message::get("/0")],
        ..Exchange::refused(format!("after a request, {name}"), format!("{first}{bytes}{SMUGGLED}"), 400)
    });
    all.collect()
}
