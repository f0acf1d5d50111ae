#!/usr/bin/env node
// A verifier of chrono's audit log that shares nothing with chrono: written from audit-v2.md alone, no dependencies.
//
//   node audit-v2-verify.mjs LOG KEY [CHECKPOINT]    every line of a log, then a checkpoint that somebody kept
//   node audit-v2-verify.mjs --proof FILE KEY        one record in a .tlog-proof file
//   zcat -f audit-[0-9]* audit.jsonl | node audit-v2-verify.mjs - KEY     a log in several files, packed or pruned
// KEY: the public key that you trust, base64; for a proof, several with commas. Leaves with 0 (intact) or 20.
import { createHash, createPublicKey, verify } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";

const MAX_LINE = 65536;
const NO_PREV = "0".repeat(64);
const SIGNATURE = /,"sig":"([A-Za-z0-9+/]{85}[AQgw]==)"\}$/;
const P = 2n ** 255n - 19n, L = 2n ** 252n + 27742317777372353535851937790883648493n;
const Y8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL_ORDER = [0n, 1n, P - 1n, Y8, P - Y8];

class Bad extends Error {}
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
const leafHash = (line) => sha256(Buffer.from([0]), line);
const nodeHash = (left, right) => sha256(Buffer.from([1]), left, right);
const little = (bytes) => BigInt("0x" + Buffer.from(bytes).reverse().toString("hex"));

function base64(text) {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text) throw new Bad("malformed base64");
  return bytes;
}

function publicKey(text) {
  const raw = base64(text);
  if (raw.length !== 32) throw new Bad("a public key has 32 bytes");
  const y = little(raw) & (2n ** 255n - 1n);
  if (y >= P || SMALL_ORDER.includes(y)) throw new Bad("a public key that proves nothing");
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  return { raw, text, key, kid: sha256(raw).toString("hex").slice(0, 32) };
}

function holds(key, data, signature) {
  return signature.length === 64 && little(signature.subarray(32)) < L && verify(null, data, key.key, signature);
}

function canonical(value, depth = 1) {
  if (typeof value === "string" && value.includes("\0")) throw new Bad("text with a NUL");
  const number = typeof value === "number";
  if (number && (!Number.isSafeInteger(value) || Object.is(value, -0))) throw new Bad("not a whole number");
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (depth > 8) throw new Bad("nested too deep");
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  const members = Object.keys(value).sort().map((key) => {
    if (!/^[\x01-\x7f]*$/.test(key)) throw new Bad("a key that is not ASCII");
    return `${JSON.stringify(key)}:${canonical(value[key], depth + 1)}`;
  });
  return `{${members.join(",")}}`;
}

function record(line) {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
  const value = JSON.parse(text);
  if (value === null || typeof value !== "object" || canonical(value) !== text) throw new Bad("not in canonical form");
  if (value.fmt !== 2 || typeof value.by !== "object" || typeof value.ev !== "string") throw new Bad("no record");
  if ("sig" in value !== "kid" in value) throw new Bad("`kid` and `sig` come together");
  return { value, text };
}

function signed(text) {
  const found = SIGNATURE.exec(text);
  if (!found) throw new Bad("malformed signature");
  return [Buffer.from(`chrono-audit-record/v2\n${text.slice(0, found.index)}}`), base64(found[1])];
}

// --- the tree and its checkpoint

class Tree {
  size = 0;
  hashes = [];
  add(leaf) {
    for (let size = this.size; size & 1; size = (size - 1) / 2) leaf = nodeHash(this.hashes.pop(), leaf);
    this.hashes.push(leaf);
    this.size += 1;
  }
  root() {
    return this.hashes.length ? this.hashes.reduceRight((right, left) => nodeHash(left, right)) : sha256();
  }
}

function checkpoint(note, keys) {
  const end = note.indexOf("\n\n");
  const [origin, size, root, ...more] = note.slice(0, Math.max(end, 0)).split("\n");
  if (end < 0 || more.length || !/^(0|[1-9]\d{0,15})$/.test(size)) throw new Bad("no checkpoint");
  const text = note.slice(0, end + 1);
  for (const line of note.slice(end + 2).split("\n")) {
    const [dash, name, blob] = line.split(" ");
    if (dash !== "—" || name !== origin) continue;
    const bytes = base64(blob);
    for (const key of keys) {
      const hint = sha256(`${name}\n\x01`, key.raw).subarray(0, 4);
      if (hint.equals(bytes.subarray(0, 4)) && holds(key, Buffer.from(text), bytes.subarray(4)))
        return { log: origin.replace("chrono.local/", ""), size: Number(size), root: base64(root) };
    }
  }
  throw new Bad("no signature of a trusted key on the checkpoint");
}

async function* lines(path) {
  let rest = Buffer.alloc(0);
  for await (const chunk of path === "-" ? process.stdin : createReadStream(path)) {
    const data = Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end; (end = data.indexOf(10, start)) >= 0; start = end + 1) yield data.subarray(start, end);
    rest = data.subarray(start);
    if (rest.length > MAX_LINE) throw new Bad("a line that is too long");
  }
  if (rest.length) console.error(`the last ${rest.length} bytes are part of a record`);
}

async function verifyLog(path, trusted, note) {
  const tree = new Tree();
  const kept = note === undefined ? undefined : { size: /\n(\d+)\n/.exec(note)?.[1] };
  const [keys, files, pruned] = [[trusted], [], new Map()];
  let [log, prev, key, isSigned] = ["", NO_PREV, trusted, false];
  for await (const line of lines(path)) {
    const n = tree.size;
    const left = n && /^[0-9a-f]{64}$/.test(line.subarray(0, 65)) ? line.toString() : undefined;
    if (left) files.at(-1).pruned = true;
    else try {
      if (line.length > MAX_LINE) throw new Bad("too long");
      const { value, text } = record(line);
      log ||= value.log;
      if (value.log !== log || value.n !== n || value.prev !== prev) throw new Bad("does not follow the one before it");
      if (n === 0 || value.ev === "segment.open") files.push({ first: n, hash: createHash("sha256") });
      if (value.ev === "prune" && value.act.segment) pruned.set(value.act.segment.first, value.act.segment.sha256);
      if ((n === 0) !== (value.ev === "genesis")) throw new Bad("genesis comes first, and only there");
      if (value.sig === undefined && isSigned) throw new Bad("unsigned in a signed log");
      if (value.sig !== undefined) {
        if (!isSigned && value.ev !== (n ? "key.add" : "genesis")) throw new Bad("a key that nothing introduced");
        isSigned = true;
        if (value.kid !== key.kid || !holds(key, ...signed(text))) throw new Bad("the signature does not hold");
        if (value.ev === "key.rotate") {
          const next = publicKey(value.act.key.pub);
          const proof = `chrono-key-rotate/v2\n${log}\n${n}\n${prev}\n${key.kid}\n${next.text}\n`;
          if (!holds(next, Buffer.from(proof), base64(value.act.key.pop))) throw new Bad("the new key is not proved");
          keys.push((key = next));
        }
      }
    } catch (error) {
      throw new Bad(`record ${n}: ${error.message}`);
    }
    files.at(-1).hash.update(line).update("\n");
    const leaf = left ? Buffer.from(left, "hex") : leafHash(line);
    tree.add(leaf);
    prev = leaf.toString("hex");
    if (kept && String(tree.size) === kept.size) kept.root = tree.root();
  }
  if (!isSigned) throw new Bad("the log is not signed");
  for (const file of files.filter((one) => one.pruned))
    if (pruned.get(file.first) !== file.hash.digest("hex")) throw new Bad(`${file.first}: pruned, and no record says so`);
  if (kept) {
    const found = checkpoint(note, keys);
    if (found.log !== log) throw new Bad("the checkpoint is of another log");
    if (!kept.root) throw new Bad(`truncated: the checkpoint covers ${found.size} records, the log has ${tree.size}`);
    if (!found.root.equals(kept.root)) throw new Bad("the log is not the one that the checkpoint is of");
  }
  return `OK log ${log}: ${tree.size} records, root ${tree.root().toString("hex")}`;
}

// --- one record (C2SP tlog-proof; the way up is that of RFC 9162 section 2.1.3.2)

function verifyProof(text, keys) {
  const end = text.indexOf("\n\n");
  const [header, extra, index, ...path] = text.slice(0, end).split("\n");
  if (header !== "c2sp.org/tlog-proof@v1") throw new Bad("no tlog-proof");
  const line = base64(extra.replace(/^extra /, ""));
  const n = Number(index.replace(/^index /, ""));
  const { log, size, root } = checkpoint(text.slice(end + 2), keys);
  const { value } = record(line);
  let [place, last, hash] = [n, size - 1, leafHash(line)];
  for (const part of path.map(base64)) {
    if (last === 0) throw new Bad("the way up is too long");
    const right = place % 2 === 1 || place === last;
    hash = right ? nodeHash(part, hash) : nodeHash(hash, part);
    for (; right && place % 2 === 0 && place > 0; last = Math.floor(last / 2)) place /= 2;
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  if (value.n !== n || value.log !== log || last !== 0 || !hash.equals(root)) throw new Bad("not in this tree");
  return `OK record ${n} of log ${log}: ${value.ev} at ${value.at}`;
}

const [first, second, third] = process.argv.slice(2);
try {
  const read = (path) => readFileSync(path, "utf8");
  if (first === "--proof") console.log(verifyProof(read(second), third.split(",").map(publicKey)));
  else console.log(await verifyLog(first, publicKey(second), third && read(third)));
} catch (error) {
  console.log(`FAIL ${error.message}`);
  process.exitCode = 20;
}
