"""Asks a server for what clients of HTTP/3 do, with aioquic, and says what worked."""

import argparse
import asyncio
import ssl

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamReset


class Client(QuicConnectionProtocol):
    """A connection that collects answers by stream."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self._http = H3Connection(self._quic)
        self._answers = {}

    def quic_event_received(self, event):
        if isinstance(event, StreamReset) and event.stream_id in self._answers:
            self._answers[event.stream_id][2].set_exception(ConnectionResetError(event.error_code))
            return
        for part in self._http.handle_event(event):
            answer = self._answers.get(part.stream_id)
            if answer is None:
                continue
            if isinstance(part, HeadersReceived):
                answer[0].append(dict(part.headers))
            elif isinstance(part, DataReceived):
                answer[1].extend(part.data)
            if part.stream_ended:
                answer[2].set_result(None)

    async def send(self, headers, body=b"", trailers=None):
        """Sends a request; returns the field sections of the answer, and its body."""
        stream = self._quic.get_next_available_stream_id()
        sections, data, ended = [], bytearray(), self._loop.create_future()
        self._answers[stream] = (sections, data, ended)
        self._http.send_headers(stream, headers, end_stream=not body and trailers is None)
        if body:
            self._http.send_data(stream, body, end_stream=trailers is None)
        if trailers is not None:
            self._http.send_headers(stream, trailers, end_stream=True)
        self.transmit()
        await asyncio.wait_for(ended, 20)
        return sections, bytes(data)


def head(method, host, path, *more):
    """The fields of a request."""
    pseudo = [(":method", method), (":scheme", "https"), (":authority", host), (":path", path)]
    return [(name.encode(), value.encode()) for name, value in [*pseudo, *more]]


async def get(client, host, path="/"):
    sections, data = await client.send(head("GET", host, path))
    assert sections[0][b":status"] == b"200", sections
    assert data == b"GET " + path.encode(), data


async def body(client, host):
    sent = b"0123456789abcdef" * (1 << 14)
    length = ("content-length", str(len(sent)))
    sections, data = await client.send(head("POST", host, "/", length), sent)
    assert sections[0][b":status"] == b"200" and data == sent, (sections, len(data))


async def trailers(client, host):
    length = ("content-length", "2")
    sections, data = await client.send(head("POST", host, "/", length), b"hi", [(b"x-sum", b"1")])
    assert sections[0][b":status"] == b"200" and data == b"hi", sections


async def many_at_once(client, host):
    await asyncio.gather(*(get(client, host, f"/{number}") for number in range(100)))


async def other_connection_ids(client, host):
    """Goes on under other connection IDs, until more than one has been retired."""
    for _ in range(5):
        client.change_connection_id()
        await get(client, host)


async def other_keys(client, host):
    client.request_key_update()
    await get(client, host)


async def malformed(client, host):
    """A request that says it is for two paths is refused, and the connection lives."""
    try:
        sections, _ = await client.send(head("GET", host, "/", (":path", "/other")))
        assert sections[0][b":status"] == b"400", sections
    except ConnectionResetError:
        pass
    await get(client, host)


STEPS = [get, body, trailers, many_at_once, other_connection_ids, other_keys, malformed]


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--host")
    parser.add_argument("--ca")
    options = parser.parse_args()
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=H3_ALPN, server_name=options.host, verify_mode=ssl.CERT_REQUIRED
    )
    configuration.load_verify_locations(options.ca)
    async with connect(
        "127.0.0.1", options.port, configuration=configuration, create_protocol=Client
    ) as client:
        for step in STEPS:
            await step(client, options.host)
            print(step.__name__, flush=True)


asyncio.run(main())
