# SPDX-License-Identifier: MIT
"""One TCP flow, as the limit of a link: rank 1 sends to rank 0, which prints the bytes per second that arrive."""

import os
import socket
import time

PORT = 4000
WARMUP_S, MEASURED_S, PATIENCE_S = 0.5, 2, 10


def receive():
    buffer = bytearray(1 << 20)
    with socket.create_server((os.environ["FIRST_ADDRESS"], PORT)) as server:
        server.settimeout(PATIENCE_S)
        connection, _ = server.accept()
    with connection:
        warm = time.monotonic() + WARMUP_S
        while time.monotonic() < warm:
            connection.recv_into(buffer)
        start, received = time.monotonic(), 0
        while time.monotonic() < start + MEASURED_S:
            received += connection.recv_into(buffer)
        print(f"{received / (time.monotonic() - start):.0f}")


def connect():
    """The receiver may not be there yet."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection((os.environ["FIRST_ADDRESS"], PORT), timeout=PATIENCE_S)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def send():
    with connect() as connection:
        data = bytes(1 << 20)
        try:
            while True:
                connection.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the receiver has finished


if __name__ == "__main__":
    receive() if os.environ["RING_RANK"] == "0" else send()
