#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Carries the frames of two network interfaces to each other, each after a delay: relay.py NEAR FAR MILLISECONDS."""
import collections
import select
import socket
import sys
import time

ALL_PROTOCOLS, SOL_PACKET, PACKET_IGNORE_OUTGOING = 3, 263, 23
FRAME_BYTES_MAX = 65536


def raw(interface):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    link.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    link.bind((interface, 0))
    link.setblocking(False)
    return link


def main():
    near, far = raw(sys.argv[1]), raw(sys.argv[2])
    delay = float(sys.argv[3]) / 1000
    waiting = collections.deque()  # when, to whom, what
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, to, frame = waiting.popleft()
            try:
                to.send(frame)
            except OSError:
                pass  # The line is full or down: a network loses frames then.
        patience = max(0.0, waiting[0][0] - now) if waiting else None
        for link in select.select([near, far], [], [], patience)[0]:
            try:
                frame = link.recv(FRAME_BYTES_MAX)
            except OSError:
                continue
            waiting.append((time.monotonic() + delay, far if link is near else near, frame))


main()
