"""Serves a folder of pages on this machine: `python scripts/serve.py FOLDER PORT`. As on the web, a lost reader gets 404.html."""

import functools
import http.server
import sys
from pathlib import Path


class SiteHandler(http.server.SimpleHTTPRequestHandler):
    """Serves the files of a folder."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with the site's own page where a file does not exist."""
        page = Path(self.directory) / "404.html"
        if code != http.HTTPStatus.NOT_FOUND or not page.exists():
            return super().send_error(code, message, explain)
        body = page.read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        return None


class QuietHandler(SiteHandler):
    """Serves without writing a line for each request."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def server(folder: Path, port: int, handler: type[SiteHandler] = SiteHandler) -> http.server.ThreadingHTTPServer:
    """A server of the folder that nobody but this machine can reach; port 0 takes a free one."""
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(handler, directory=str(folder)))


def main(folder: str, port: str) -> None:
    """Serve until Ctrl-C."""
    if not (Path(folder) / "index.html").exists():
        sys.exit(f"serve: {folder} holds no index.html; run `make book` first.")
    with server(Path(folder), int(port)) as running:
        print(f"The website: http://localhost:{running.server_port}   (Ctrl-C ends it)", flush=True)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python scripts/serve.py FOLDER PORT")
    main(*sys.argv[1:])
