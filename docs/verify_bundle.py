#!/usr/bin/env python3
"""Verifies bundles of debates, written from docs/audit.md alone. Needs nothing but Python 3.8's standard library.

    python3 verify_bundle.py [--key KEY] [--since NOTE] BUNDLE...
    python3 verify_bundle.py --vectors proof.json

KEY is the public key, or a file with it. NOTE is an older checkpoint that a bundle's must continue. Ends with 0 where
every bundle is sound, with 4 where one is not. What no signature covers, whole streams and events behind the last leaf of
one, is counted and is no fault. It does not fold debates: that events can have happened and that outcomes follow from the
log is for `debate verify --bundle`.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import sys
import uuid
import zlib

GENESIS = bytes(32)
LINE_BYTES_MAX = 64 * 1024 * 1024
NOTE_BYTES_MAX = 64 * 1024


class Bad(Exception):
    """Something is not what was written or signed."""


def need(condition, what):
    if not condition:
        raise Bad(what)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def hex_bytes(text, length, what):
    need(re.fullmatch("[0-9a-f]{%d}" % (2 * length), text), "%s is not %d bytes in hex" % (what, length))
    return bytes.fromhex(text)


def number(text, what):
    """Reads a number below 2^64 that has one spelling."""
    need(re.fullmatch("0|[1-9][0-9]{0,19}", text) and int(text) < 2**64, what)
    return int(text)


def counted(count, one):
    return "%d %s%s" % (count, one, "" if count == 1 else "s")


def from_json(text):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Bad("it is not JSON")


def base64_bytes(text, what):
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raise Bad("%s is not base64" % what)
    need(base64.b64encode(raw).decode() == text, "%s is not written as base64 is" % what)
    return raw


# Ed25519 (RFC 8032), verification alone.

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
BASE_Y = 4 * pow(5, P - 2, P) % P


def point_add(a, b):
    (x1, y1, z1, t1), (x2, y2, z2, t2) = a, b
    m, n = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = n - m, d - c, d + c, n + m
    return e * f % P, g * h % P, f * g % P, e * h % P


def point_times(number, point):
    result = (0, 1, 1, 0)
    while number:
        if number & 1:
            result = point_add(result, point)
        point = point_add(point, point)
        number >>= 1
    return result


def point_read(raw):
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or x * x % P != square or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def point_bytes(point):
    x, y, z, _ = point
    z = pow(z, P - 2, P)
    x, y = x * z % P, y * z % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


BASE = point_read(BASE_Y.to_bytes(32, "little"))


def ed25519_verify(key, message, signature):
    if len(signature) != 64:
        return False
    point, s = point_read(key), int.from_bytes(signature[32:], "little")
    if point is None or s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    x, y, z, t = point_times(k, point)
    return point_bytes(point_add(point_times(s, BASE), (P - x, y, z, P - t))) == signature[:32]


# The Merkle tree (RFC 6962; proofs as in RFC 9162).


def leaf_hash(leaf):
    return sha256(b"\0", leaf)


def node_hash(left, right):
    return sha256(b"\1", left, right)


def root(hashes):
    if not hashes:
        return sha256()
    if len(hashes) == 1:
        return hashes[0]
    split = 1 << (len(hashes) - 1).bit_length() - 1
    return node_hash(root(hashes[:split]), root(hashes[split:]))


def check_inclusion(leaf, index, size, proof, want):
    need(index < size, "leaf %d lies beyond the tree's %d leaves" % (index, size))
    at, last = index, size - 1
    for node in proof:
        need(last != 0, "the proof of inclusion is too long")
        if at % 2 == 1 or at == last:
            leaf = node_hash(node, leaf)
            while at % 2 == 0 and at != 0:
                at, last = at >> 1, last >> 1
        else:
            leaf = node_hash(leaf, node)
        at, last = at >> 1, last >> 1
    need(last == 0, "the proof of inclusion is too short")
    need(leaf == want, "the proof of inclusion does not lead to the root")


def check_consistency(old_size, old_root, size, new_root, proof):
    need(old_size <= size, "the tree has fewer leaves than the one seen before")
    if old_size in (0, size):
        need(not proof, "the proof of consistency is too long")
        need(old_root == (root([]) if old_size == 0 else new_root), "the tree is not the one seen before")
        return
    if old_size & (old_size - 1) == 0:
        proof = [old_root] + proof
    need(proof, "the proof of consistency is too short")
    at, last = old_size - 1, size - 1
    while at % 2 == 1:
        at, last = at >> 1, last >> 1
    to_old = to_new = proof[0]
    for node in proof[1:]:
        need(last != 0, "the proof of consistency is too long")
        if at % 2 == 1 or at == last:
            to_old, to_new = node_hash(node, to_old), node_hash(node, to_new)
            while at % 2 == 0 and at != 0:
                at, last = at >> 1, last >> 1
        else:
            to_new = node_hash(to_new, node)
        at, last = at >> 1, last >> 1
    need(last == 0, "the proof of consistency is too short")
    need((to_old, to_new) == (old_root, new_root), "the tree does not begin with the one seen before")


# Keys, notes, checkpoints, leaves.


def read_key(text):
    parts = text.strip().split("+", 2)
    need(len(parts) == 3 and not text.startswith("PRIVATE+KEY+"), "this is not a public key")
    raw = base64_bytes(parts[2], "the key")
    need(len(raw) == 33 and raw[0] == 1, "this is not an Ed25519 key")
    key_id = sha256(parts[0].encode(), b"\n", raw)[:4]
    need(key_id.hex() == parts[1], "the key's id does not match")
    return parts[0], key_id, raw[1:]


def open_note(note, key):
    """Returns the text of a note; with a key, only where the key has signed it."""
    need(len(note.encode()) <= NOTE_BYTES_MAX, "the note is too long")
    need(not any(ord(c) < 32 and c != "\n" or ord(c) == 127 for c in note), "the note has control characters")
    end = note.rfind("\n\n") + 1
    need(end > 0 and note.endswith("\n"), "the note has no signatures")
    text, is_signed = note[:end], False
    for line in note[end + 1 : -1].split("\n"):
        parts = line.split(" ")
        need(len(parts) == 3 and parts[0] == "\u2014" and parts[1], "a line of the note is not a signature")
        raw = base64_bytes(parts[2], "a signature")
        need(len(raw) > 4, "a line of the note is not a signature")
        if key and (parts[1], raw[:4]) == key[:2]:
            need(ed25519_verify(key[2], text.encode(), raw[4:]), "the signature does not match the note")
            is_signed = True
    need(is_signed or not key, "the note is not signed by the key")
    return text


def open_checkpoint(note, key):
    lines = open_note(note, key)[:-1].split("\n")
    need(len(lines) >= 3 and all(lines), "the note is not a checkpoint")
    need(not key or lines[0] == key[0], "the checkpoint is of another log than the key")
    size = number(lines[1], "the checkpoint has no size")
    top = base64_bytes(lines[2], "the root")
    need(len(top) == 32, "the checkpoint has no root")
    return lines[0], size, top


def read_leaf(text):
    parts = text.split(" ")
    need(len(parts) == 3, "this is not a leaf")
    stream, seq, digest = parts
    kind, _, name = stream.partition("/")
    need(kind in ("debate", "policy") and is_uuid(name), "the leaf names no stream")
    seq = number(seq, "the leaf has no sequence number")
    need(seq > 0, "the leaf has no sequence number")
    return stream, seq, hex_bytes(digest, 32, "the leaf's hash")


def is_uuid(text):
    return re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text) is not None


# Events.


def of_parts(*parts):
    return sha256(*(len(part).to_bytes(8, "little") + part for part in parts))


def envelope_hash(previous, kind, name, event):
    digest = event.get("prose_digest")
    return of_parts(
        previous,
        kind.encode(),
        uuid.UUID(name).bytes,
        event["seq"].to_bytes(8, "little"),
        event["kind"].encode(),
        event["version"].to_bytes(2, "little"),
        event["at"].to_bytes(8, "little", signed=True),
        event["tenant"].encode(),
        event["actor"].encode(),
        event.get("trace", "").encode(),
        event["body"].encode(),
        bytes([digest is not None]),
        hex_bytes(digest, 32, "the prose's digest") if digest is not None else bytes(32),
    )


def redaction(event):
    """Returns which event this one records as redacted."""
    body = from_json(event["body"])
    need(type(body) is dict and type(body.get("seq")) is int, "it is no redaction")
    need(0 < body["seq"] < event["seq"], "it redacts an event that is not before it")
    return body["seq"]


class Stream:
    """One stream of a bundle: its chain, and what was recorded of it."""

    def __init__(self, kind, name, leaves):
        self.kind, self.name, self.leaves = kind, name, dict(leaves)
        self.signed = max(self.leaves, default=0)
        self.seq, self.hash, self.fault = 0, GENESIS, None
        self.lines, self.bare, self.redacted = 0, set(), set()

    def push(self, event):
        self.lines += 1
        if self.fault is None:
            try:
                self.check(event)
            except Bad as bad:
                self.fault = "event %d: %s" % (self.seq + 1, bad)

    def check(self, event):
        need(event["seq"] == self.seq + 1, "another event stands in its place")
        need(event.get("trace") != "", "it was changed")
        digest = envelope_hash(self.hash, self.kind, self.name, event)
        need(digest.hex() == event["hash"], "it was changed")
        prose = event.get("prose")
        if prose is not None:
            text = of_parts(hex_bytes(prose["salt"], 16, "the salt"), prose["text"].encode())
            need(text.hex() == event.get("prose_digest"), "its words were changed")
        elif "prose_digest" in event:
            self.bare.add(event["seq"])
        if event["kind"] == "redacted":
            self.redacted.add(redaction(event))
        if event["seq"] in self.leaves:
            need(self.leaves.pop(event["seq"]) == digest, "history up to here is not what was recorded")
        self.seq, self.hash = event["seq"], digest

    def unsigned(self):
        """Returns how many of its events no leaf covers."""
        return self.seq - min(self.signed, self.seq)

    def end(self):
        if self.fault is None and self.leaves:
            self.fault = "cut short at event %d, it had %d" % (self.seq, max(self.leaves))
        if self.fault is None and self.bare - self.redacted:
            self.fault = "event %d: its words are gone without a record" % min(self.bare - self.redacted)


# Bundles.

KEYS = {
    "bundle": ({"version": int, "whole": bool}, {}),
    "checkpoint": ({"note": str}, {"since": dict}),
    "stream": ({"kind": str, "id": str}, {"request_id": str, "inclusion": dict}),
    "event": (
        {"seq": int, "kind": str, "version": int, "at": int, "tenant": str, "actor": str, "body": str, "hash": str},
        {"trace": str, "prose": dict, "prose_digest": str},
    ),
    "end": ({"streams": int, "events": int}, {}),
    "since": ({"size": int, "proof": list}, {}),
    "inclusion": ({"leaf": str, "index": int, "proof": list}, {}),
    "prose": ({"salt": str, "text": str}, {}),
}
# Where the fields that may be left out do not come last.
ORDER = {
    "event": "seq kind version at tenant actor trace body prose prose_digest hash".split(),
}
RANGES = {"seq": (0, 2**64), "version": (0, 2**16), "at": (-(2**63), 2**63)}


def check_form(name, value):
    must, may = KEYS[name]
    need(type(value) is dict and set(must) <= set(value), "`%s` has other fields" % name)
    order = [field for field in ORDER.get(name, [*must, *may]) if field in value]
    need(list(value) == order, "`%s` has other fields, or in another order" % name)
    for field, inner in value.items():
        need(type(inner) is must.get(field, may.get(field)), "`%s` has the wrong kind" % field)
        low, high = RANGES.get(field, (0, 2**64))
        need(type(inner) is not int or low <= inner < high, "`%s` is out of range" % field)
        if field in KEYS and type(inner) is dict:
            check_form(field, inner)
        if type(inner) is list:
            need(all(type(node) is str for node in inner), "`%s` has the wrong kind" % field)


def read_line(text):
    line = from_json(text)
    need(type(line) is dict and len(line) == 1, "it is not a line of a bundle")
    ((name, value),) = line.items()
    need(name == "leaf" or name in ("bundle", "checkpoint", "stream", "event", "end"), "it is unknown")
    if name == "leaf":
        need(type(value) is str, "it is no leaf")
    else:
        check_form(name, value)
    need(json.dumps(line, ensure_ascii=False, separators=(",", ":")) == text, "it is spelled otherwise")
    return name, value


def nodes(proof):
    return [hex_bytes(node, 32, "a node of a proof") for node in proof]


class Bundle:
    def __init__(self, key, since):
        self.key, self.since = key, since
        self.place, self.whole, self.checkpoint = "start", False, None
        self.leaves, self.hashes, self.latest = {}, [], {}
        self.streams, self.faults, self.events = {}, [], 0
        self.open = None

    def push(self, text):
        name, value = read_line(text)
        if name == "bundle" and self.place == "start":
            need(value["version"] == 1, "the version is unknown")
            self.whole, self.place = value["whole"], "checkpoint"
        elif name == "checkpoint" and self.place == "checkpoint":
            self.place = "leaves" if self.whole else "streams"
            try:
                self.take_checkpoint(value)
            except Bad as bad:
                self.faults.append(str(bad))
        elif name == "leaf" and self.place == "leaves":
            stream, seq, digest = read_leaf(value)
            need(self.latest.get(stream, 0) < seq, "the leaf goes back")
            self.latest[stream] = seq
            self.leaves.setdefault(stream, []).append((seq, digest))
            self.hashes.append(leaf_hash(value.encode()))
        elif name == "stream" and self.place in ("checkpoint", "leaves", "streams"):
            self.close()
            self.place = "streams"
            self.open_stream(value)
        elif name == "event" and self.place == "streams" and self.open:
            self.events += 1
            self.open.push(value)
        elif name == "end" and self.place in ("checkpoint", "leaves", "streams"):
            self.close()
            need((value["streams"], value["events"]) == (len(self.streams), self.events), "the count is wrong")
            self.place = "end"
        else:
            raise Bad("it does not belong in this place")

    def take_checkpoint(self, value):
        self.checkpoint = open_checkpoint(value["note"], self.key)
        if self.since is None:
            return
        origin, size, top = self.checkpoint
        need(origin == self.since[0], "the checkpoint seen before is of another log")
        proof = value.get("since", {"size": None, "proof": []})
        if proof["size"] != self.since[1]:
            need(self.since[1] in (0, size), "it is not proved that the checkpoint seen before is continued")
            proof = {"proof": []}
        check_consistency(self.since[1], self.since[2], size, top, nodes(proof["proof"]))

    def open_stream(self, value):
        kind, name = value["kind"], value["id"]
        need(kind in ("debate", "policy") and is_uuid(name), "it names no stream")
        stream = "%s/%s" % (kind, name)
        need(stream not in self.streams, "the stream is there already")
        need(re.fullmatch("[!-~]{0,128}", value.get("request_id", "")), "it names no request")
        inclusion, leaves = value.get("inclusion"), self.leaves.get(stream, [])
        need(not (inclusion and self.whole), "it does not belong in this place")
        fault = None
        if self.checkpoint and not inclusion and not self.whole:
            fault = "nothing shows that it is under the checkpoint"
        if inclusion:
            named, seq, digest = read_leaf(inclusion["leaf"])
            leaves = [(seq, digest)]
            try:
                need(named == stream, "the proof is for another stream")
                need(self.checkpoint, "there is a proof and no checkpoint")
                proof = nodes(inclusion["proof"])
                _, size, top = self.checkpoint
                check_inclusion(leaf_hash(inclusion["leaf"].encode()), inclusion["index"], size, proof, top)
            except Bad as bad:
                fault = str(bad)
        self.open = self.streams[stream] = Stream(kind, name, leaves)
        self.open.fault = fault

    def close(self):
        if self.open:
            need(self.open.lines, "the stream before has no events")
            self.open.end()
            self.open = None
        if self.place == "leaves" and self.checkpoint:
            if (len(self.hashes), root(self.hashes)) != self.checkpoint[1:]:
                self.faults.append("the leaves are not those that were signed")

    def finish(self):
        need(self.place == "end", "the bundle is cut off")
        if (self.key or self.since) and not self.checkpoint and not self.faults:
            self.faults.append("the bundle carries no checkpoint")
        for stream in sorted(set(self.leaves) - set(self.streams)):
            self.faults.append("%s: removed, it had %d events" % (stream, self.latest[stream]))

    def reading(self):
        """Returns the name of the stream that is being read, where there is one."""
        return " of %s/%s" % (self.open.kind, self.open.name) if self.open else ""

    def stream_faults(self):
        return ["%s: %s" % (stream, found.fault) for stream, found in self.streams.items() if found.fault]

    def summary(self):
        streams, events = counted(len(self.streams), "stream"), counted(self.events, "event")
        if not self.key:
            return "%s, %s, signature not checked" % (streams, events)
        told = "%s, %s, signed by %s" % (streams, events, self.key[0])
        unsigned = sum(found.unsigned() for found in self.streams.values())
        if not unsigned:
            return told
        streams = counted(sum(not found.signed for found in self.streams.values()), "stream")
        return "%s; %s and %s are not signed" % (told, streams, counted(unsigned, "event"))


def chunks_of(path):
    """Yields the bytes of a file, uncompressed; all of a compressed one must be gzip, to the last byte."""
    with open(path, "rb") as file:
        member = None
        for chunk in iter(lambda: file.read(1 << 16), b""):
            if member is None and file.tell() == len(chunk):
                member = zlib.decompressobj(31) if chunk[:2] == b"\x1f\x8b" else False
            if member is False:
                yield chunk
                continue
            while chunk:
                if member.eof:
                    member = zlib.decompressobj(31)
                yield member.decompress(chunk, 1 << 20)
                chunk = member.unconsumed_tail or member.unused_data
        while member and not member.eof:
            rest = member.decompress(member.unconsumed_tail, 1 << 20)
            need(rest, "the file is cut off")
            yield rest


def lines_of(path):
    rest = bytearray()
    for chunk in chunks_of(path):
        *lines, chunk = chunk.split(b"\n")
        for line in lines:
            need(len(rest) + len(line) <= LINE_BYTES_MAX, "it is too long")
            yield (bytes(rest) + line).decode("utf-8")
            rest.clear()
        rest += chunk
        need(len(rest) <= LINE_BYTES_MAX, "it is too long")
    need(not rest, "the bundle is cut off")


def verify(path, key, since):
    """Returns the bundle, checked; what is wrong with it is in its faults."""
    bundle, number = Bundle(key, since), 0
    try:
        for number, text in enumerate(lines_of(path), 1):
            bundle.push(text)
        number += 1
        bundle.finish()
    except Bad as bad:
        bundle.faults.append("line %d%s: %s" % (number, bundle.reading(), bad))
    except (OSError, UnicodeDecodeError, zlib.error) as error:
        bundle.faults.append("the file is damaged%s: %s" % (bundle.reading(), error))
    bundle.faults += bundle.stream_faults()
    return bundle


def check_vectors(path):
    """Recomputes every value in the file of test vectors, and verifies the bundles beside it."""
    with open(path, encoding="utf-8") as file:
        vectors = json.load(file)
    key = read_key(vectors["public_key"])
    hashes = [leaf_hash(leaf.encode()) for leaf in vectors["leaves"]]
    need([digest.hex() for digest in hashes] == vectors["leaf_hashes"], "leaf hashes differ")
    need([root(hashes[:n]).hex() for n in range(len(hashes) + 1)] == vectors["roots"], "roots differ")
    for case in vectors["inclusion"]:
        index, size = case["index"], case["size"]
        check_inclusion(hashes[index], index, size, nodes(case["proof"]), root(hashes[:size]))
    for case in vectors["consistency"]:
        old, size = case["from"], case["size"]
        check_consistency(old, root(hashes[:old]), size, root(hashes[:size]), nodes(case["proof"]))
    for case in vectors["checkpoints"]:
        want = (key[0], case["size"], root(hashes[: case["size"]]))
        need(open_checkpoint(case["note"], key) == want, "a checkpoint differs")
    for case in vectors["events"]:
        kind, _, name = case["stream"].partition("/")
        previous = hex_bytes(case["previous"], 32, "previous")
        digest = envelope_hash(previous, kind, name, case["event"])
        need(digest.hex() == case["event"]["hash"], "the hash of an event differs")
    since = open_checkpoint(vectors["checkpoints"][0]["note"], key)
    for name in vectors["bundles"]:
        bundle = verify(os.path.join(os.path.dirname(path), name), key, since)
        need(not bundle.faults, "%s: %s" % (name, "; ".join(bundle.faults)))
        told = bundle.summary()
        need(told == vectors["bundles"][name], "%s: %s" % (name, told))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--key")
    parser.add_argument("--since")
    parser.add_argument("--vectors")
    parser.add_argument("bundles", nargs="*")
    args = parser.parse_args()
    try:
        if args.vectors:
            check_vectors(args.vectors)
            print("ok     every vector of %s" % args.vectors)
        key = since = None
        if args.key:
            text = args.key
            if os.path.isfile(text):
                with open(text, encoding="utf-8") as file:
                    text = file.read()
            key = read_key(text)
        if args.since:
            with open(args.since, encoding="utf-8") as file:
                since = open_checkpoint(file.read(), key)
    except Bad as bad:
        print("FAULT  %s" % bad)
        return 4
    code = 0
    for path in args.bundles:
        bundle = verify(path, key, since)
        for fault in bundle.faults:
            print("FAULT  %s: %s" % (path, fault))
            code = 4
        if not bundle.faults:
            print("ok     %s: %s" % (path, bundle.summary()))
    return code


if __name__ == "__main__":
    sys.exit(main())
