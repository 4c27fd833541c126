"""A world to talk to: a network of its own on this machine, with a server that answers on two ports and one address.

Beside it two SOCKS5 proxies: on 1080 for `me` with the password `word`, and on 1081 for everybody, by TLS.

Started by the `world` fixture. Needs root and iproute2, as sandboxes with all limits do.
"""

import http.server
import ipaddress
import os
import socket
import socketserver
import ssl
import struct
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
        text = {"/": "hello from the world\n", "/carried": str(Proxy.carried)}.get(self.path, str(self.headers))
        body = text.encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Proxy(socketserver.BaseRequestHandler):
    """As little of SOCKS5 as a client can be tried with."""

    carried = 0

    def exactly(self, count):
        said = b""
        while len(said) < count:
            more = self.request.recv(count - len(said))
            if not more:
                raise EOFError
            said += more
        return said

    def handle(self):
        try:
            self.serve()
        except (EOFError, OSError):
            pass

    def serve(self):
        _, count = self.exactly(2)
        self.exactly(count)
        if self.server.login is None:
            self.request.sendall(b"\x05\x00")
        else:
            self.request.sendall(b"\x05\x02")
            words = [self.exactly(1)]
            words += [self.exactly(self.exactly(1)[0]) for _ in range(2)]
            good = tuple(words[1:]) == self.server.login
            self.request.sendall(b"\x01\x00" if good else b"\x01\x01")
            if not good:
                return
        _, verb, _, kind = self.exactly(4)
        assert (verb, kind) == (1, 1), "an address is wanted, not a name"
        host = str(ipaddress.ip_address(self.exactly(4)))
        (port,) = struct.unpack(">H", self.exactly(2))
        onward = socket.create_connection((host, port))
        Proxy.carried += 1
        self.request.sendall(b"\x05\x00\x00\x01" + bytes(6))
        back = threading.Thread(target=carry, args=(onward, self.request), daemon=True)
        back.start()
        carry(self.request, onward)
        back.join()


def carry(source, target):
    try:
        while more := source.recv(65536):
            target.sendall(more)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Proxies(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def __init__(self, address, login=None, context=None):
        super().__init__(address, Proxy)
        self.login = login
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def main(address, certificate, key):
    plain = http.server.ThreadingHTTPServer((address, 80), Answer)
    secure = http.server.ThreadingHTTPServer((address, 443), Answer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
    Proxies((address, 1080), login=(b"me", b"word"))
    Proxies((address, 1081), context=context)
    threading.Thread(target=plain.serve_forever, daemon=True).start()
    threading.Thread(target=secure.serve_forever, daemon=True).start()
    print("up", flush=True)
    # Ends with whoever started it.
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
