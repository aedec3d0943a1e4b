"""Join the standard streams with a Unix socket, as a ProxyCommand of ssh; argument: its path."""

import os
import socket
import sys
import threading

peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[1])


def send() -> None:
    while data := os.read(0, 65536):
        peer.sendall(data)
    peer.shutdown(socket.SHUT_WR)


threading.Thread(target=send, daemon=True).start()
while received := peer.recv(65536):
    os.write(1, received)
