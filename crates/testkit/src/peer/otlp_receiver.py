"""Receives traces by the protocol's own types, and tells them to whoever asks.

POST anything: a request with spans. GET /spans?path=P&roots=N waits until N traces sent to P have
their root, and gives all spans sent there. It ends when its standard input does.
"""

import gzip
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

WAIT_SECONDS_MAX = 30
received = []
came = threading.Condition()


def plain(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(each) for each in value.array_value.values]
    return getattr(value, kind)


def attributes(pairs):
    return {pair.key: plain(pair.value) for pair in pairs}


def spans_of(request, path, headers):
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield {
                    "path": path,
                    "headers": headers,
                    "span": span.name,
                    "trace": span.trace_id.hex(),
                    "id": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "kind": span.kind,
                    "status": span.status.code,
                    "ns": span.end_time_unix_nano - span.start_time_unix_nano,
                    "attrs": attributes(span.attributes),
                    "scope": scope.scope.name,
                    "resource": attributes(resource.resource.attributes),
                }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = ExportTraceServiceRequest()
        request.ParseFromString(gzip.decompress(body))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with came:
            received.extend(spans_of(request, self.path, headers))
            came.notify_all()
        empty = ExportTraceServiceResponse().SerializeToString()
        self.answer("application/x-protobuf", empty)

    def do_GET(self):
        query = parse_qs(urlparse(self.path).query)
        path, roots = query["path"][0], int(query["roots"][0])

        def sent():
            return [span for span in received if span["path"] == path]

        def enough():
            return sum(not span["parent"] for span in sent()) >= roots

        with came:
            came.wait_for(enough, WAIT_SECONDS_MAX)
            body = json.dumps(sent()).encode()
        self.answer("application/json", body)


threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
server.daemon_threads = True
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
