# SPDX-License-Identifier: Apache-2.0
"""Hostile tcp peers of running processes: threads, each of which repeats one attack."""
import itertools
import random
import socket
import struct
import subprocess
import threading
import time

from job import SCALE, SECONDS_MAX, program

PREAMBLE_BYTES = 16
HEAD_BYTES = 88
PATIENCE = 0.2 * SCALE  # seconds that an answer may take; no attack waits longer for a server that says nothing more
HELLO, CONTROL, PULL, CHUNK, ERROR = 1, 2, 3, 5, 7


def preamble(protocol=6):
    return struct.pack("<4sIHHI", b"SHOA", protocol, 0, 0, 0)


def frame_heads(*kinds_and_lengths):
    """Frame heads with correct checksums."""
    printed = subprocess.run(program("frame_head") + [f"{kind}:{length}" for kind, length in kinds_and_lengths], text=True,
                             timeout=SECONDS_MAX, check=True, stdout=subprocess.PIPE).stdout
    return [bytes.fromhex(line) for line in printed.split()]


def receive(peer, count):
    """Reads `count` bytes, or fewer if the other side ends."""
    received = b""
    while len(received) < count and (more := peer.recv(count - len(received))):
        received += more
    return received


def first_message(listener, seconds=SECONDS_MAX):
    """Accepts one peer as a parameter server does, and returns the first frame that it sends."""
    listener.settimeout(seconds)
    with listener.accept()[0] as peer:
        peer.settimeout(seconds)
        receive(peer, PREAMBLE_BYTES)
        peer.sendall(preamble())
        head = receive(peer, HEAD_BYTES)
        return head + receive(peer, struct.unpack_from("<Q", head, 8)[0])


class Tap:
    """Listens at an address, forwards what arrives to another address, and records what the first peer sends."""

    def __init__(self, at, to):
        self._to = to
        self._recorded = bytearray()
        self._lock = threading.Lock()
        self._listener = socket.create_server(at)
        self._sockets = [self._listener]
        self._begin(self._accept)

    def recorded(self):
        with self._lock:
            return bytes(self._recorded)

    def close(self):
        for each in self._sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    @staticmethod
    def _begin(work, *arguments):
        threading.Thread(target=work, args=arguments, daemon=True).start()

    def _accept(self):
        first = True
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            try:
                server = socket.create_connection(self._to)
            except OSError:
                client.close()  # nobody listens there yet: the client tries again
                continue
            self._sockets += [client, server]
            self._begin(self._pass_on, client, server, first)
            self._begin(self._pass_on, server, client, False)
            first = False

    def _pass_on(self, source, target, record):
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
                if record:
                    with self._lock:
                        self._recorded += data
            target.shutdown(socket.SHUT_WR)
        except OSError:
            self._end(target)

    @staticmethod
    def _end(peer):
        try:
            peer.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Attackers:
    """`with Attackers(addresses, seed) as attackers:`; add() starts a thread, which goes on until the end. Whatever the
    servers do to them (they hang up, they are not there yet or not any more), they come again."""

    def __init__(self, addresses, seed):
        self._addresses = addresses
        self._seed = seed
        self._stopped = threading.Event()
        self._threads = []
        self._rounds = {}
        self._changed = threading.Condition()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stopped.set()
        for thread in self._threads:
            thread.join(SECONDS_MAX)

    def add(self, attack):
        """`attack(self, address, numbers)` is one round of the attack."""
        for address in self._addresses:
            self._rounds[attack.__name__, address] = 0
        numbers = random.Random(f"{self._seed} {attack.__name__}")
        self._threads.append(threading.Thread(target=self._repeat, args=(attack, numbers), daemon=True))
        self._threads[-1].start()

    def wait_for_rounds(self, count, seconds=SECONDS_MAX):
        """Waits until each attack has been at every address `rounds` times."""
        with self._changed:
            if not self._changed.wait_for(lambda: min(self._rounds.values()) >= count, seconds):
                raise AssertionError(f"attacks in {seconds} s, {count} of each were to be: {self._rounds}")

    def stopped(self, seconds=0):
        """True once the attack is over; waits that long for it, as slow attacks do."""
        return self._stopped.wait(seconds)

    def _repeat(self, attack, numbers):
        for address in itertools.cycle(self._addresses):
            if self.stopped():
                return
            try:
                attack(self, address, numbers)
            except ConnectionRefusedError:
                self.stopped(0.02)  # nobody listens there for now
                continue
            except (OSError, subprocess.TimeoutExpired):
                pass  # the server hung up
            with self._changed:
                self._rounds[attack.__name__, address] += 1
                self._changed.notify_all()
            self.stopped(0.02)  # other processes need the machine, too


def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def send_and_hear(address, data, count=1 << 16):
    """Passes what arrives to `data` until the other side ends or is silent."""
    heard = b""
    with connect(address) as peer:
        peer.sendall(data)
        try:
            while len(heard) < count and (more := peer.recv(1 << 16)):
                heard += more
        except (TimeoutError, ConnectionResetError):
            pass
    return heard


def send_and_leave(address, data):
    with connect(address) as peer:
        peer.sendall(data)


def noise(attackers, address, numbers):
    send_and_hear(address, numbers.randbytes(numbers.randrange(16, 2000)))


def noise_like_tls(attackers, address, numbers):
    send_and_hear(address, b"\x16\x03\x01\x00\x80" + numbers.randbytes(0x80))


def half_a_preamble(attackers, address, numbers):
    send_and_leave(address, preamble()[:numbers.randrange(1, PREAMBLE_BYTES)])


def another_protocol(attackers, address, numbers):
    send_and_hear(address, preamble(protocol=8))


def plain(attackers, address, numbers):
    """Connects as a task without a token does."""
    send_and_hear(address, preamble())


def garbage_after_the_handshake(attackers, address, numbers):
    send_and_hear(address, preamble() + numbers.randbytes(numbers.randrange(HEAD_BYTES, 4000)))


def flood(attackers, address, numbers):
    peers = []
    try:
        for i in range(100):
            peers.append(connect(address))
            if i % 2:
                peers[-1].sendall(preamble())  # is admitted, and sends nothing
        attackers.stopped(0.1)
    finally:
        for peer in peers:
            peer.close()


def slow_loris(attackers, address, numbers):
    """Sends a byte now and then."""
    with connect(address) as peer:
        for byte in preamble():
            peer.send(bytes([byte]))
            if attackers.stopped(0.08 * SCALE):
                return


def sending(name, *pieces, cut=False):
    """An attack that sends one of `pieces`, or a part of all of them."""

    def attack(attackers, address, numbers):
        data = numbers.choice(pieces)
        if cut:
            send_and_leave(address, data[:numbers.randrange(1, len(data))])
        else:
            send_and_hear(address, data)

    attack.__name__ = name
    return attack


def replaying(tap, address):
    """An attack that repeats what the honest peer has sent so far: whole, cut, or with a bit changed."""

    def replay(attackers, _, numbers):
        data = bytearray(tap.recorded()[:1 << 20])
        if not data:
            attackers.stopped(0.01)
            raise ConnectionRefusedError
        what = numbers.randrange(3)
        if what == 1:
            del data[numbers.randrange(len(data)):]
        elif what == 2:
            data[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
        send_and_hear(address, bytes(data))

    return replay


def meeting_by_psk(identity_of):
    """An attack by OpenSSL's own client, with the name of the job's key (which everybody can read) and another key."""

    def wrong_key(attackers, address, numbers):
        identity = identity_of() if numbers.randrange(2) else b"a name"
        if b"\0" in identity:  # No argument of a program has such a byte. The name of a key has random bytes.
            identity = b"a name"
        subprocess.run(["openssl", "s_client", "-tls1_3", "-psk_identity", identity, "-psk", numbers.randbytes(32).hex(),
                        "-connect", address], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=10 * SCALE)

    return wrong_key


def meeting_by_certificate(name, folder):
    """An attack by OpenSSL's own client, which believes the servers, with the key pair in `folder`."""

    def wrong_certificate(attackers, address, numbers):
        subprocess.run(["openssl", "s_client", "-tls1_3", "-quiet", "-cert", f"{folder}/task.pem", "-key", f"{folder}/task.key",
                        "-connect", address], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=10 * SCALE)

    wrong_certificate.__name__ = name
    return wrong_certificate
