"""A world to talk to: a network of its own on this machine, with a server that answers on two ports and one address.

Started by the `world` fixture. Needs root and iproute2, as sandboxes with all limits do.
"""

import http.server
import os
import ssl
import sys
import threading
import time


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/forever":
            self.send_response(200)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            while True:
                self.wfile.write(b"5\r\ntick\n\r\n")
                self.wfile.flush()
                time.sleep(0.2)
        text = "hello from the world\n" if self.path == "/" else str(self.headers)
        body = text.encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main(address, certificate, key):
    plain = http.server.ThreadingHTTPServer((address, 80), Answer)
    secure = http.server.ThreadingHTTPServer((address, 443), Answer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=plain.serve_forever, daemon=True).start()
    threading.Thread(target=secure.serve_forever, daemon=True).start()
    print("up", flush=True)
    # Ends with whoever started it.
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
