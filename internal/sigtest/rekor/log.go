package rekor

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	commonpb "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	rekorpb "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
)

// A Log is one generation of a Rekor log, with its own tree and its own key. Every method may be called from any goroutine.
type Log struct {
	Host   string        // its name in its URL and in the signatures of its checkpoints
	Key    crypto.Signer // ECDSA on P-256, or Ed25519
	Public []byte        // SubjectPublicKeyInfo
	ID     []byte        // how entries name the log

	timed  bool   // Rekor v1: the log signs the time of each entry
	origin string // first line of its checkpoints
	first  int64  // index of this tree's first entry among all trees of the service

	mu     sync.Mutex
	leaves tree
}

// earlierEntries is the number of entries that a new log already has, so that no proof is empty.
const earlierEntries = 5

// NewV1 returns a log that signs the time of each entry. The domain and the number of the generation, from 0, name the log.
func NewV1(domain string, generation int, key *ecdsa.PrivateKey) (*Log, error) {
	public, err := encodeKey(key.Public())
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(public)
	host := fmt.Sprintf("rekor-%d.%s", generation+1, domain)
	treeID := binary.BigEndian.Uint64(id[:]) >> 1
	return &Log{
		Host: host, Key: key, Public: public, ID: id[:], timed: true, origin: fmt.Sprintf("%s - %d", host, treeID),
		first: int64(generation+1) * 1_000_000, leaves: newTree(id[:]),
	}, nil
}

// NewV2 returns a log that signs only checkpoints and records no times. The domain and the number of the generation, from 0, name the log.
func NewV2(domain string, generation int, key crypto.Signer) (*Log, error) {
	public, err := encodeKey(key.Public())
	if err != nil {
		return nil, err
	}
	host := fmt.Sprintf("log-%d.rekor.%s", generation+1, domain)
	id := noteKeyID(host, key.Public(), public)
	return &Log{Host: host, Key: key, Public: public, ID: id, origin: host, leaves: newTree(id)}, nil
}

// encodeKey returns the DER SubjectPublicKeyInfo of a key.
func encodeKey(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	return der, nil
}

// newTree returns a tree with the entries that a new log already has.
func newTree(seed []byte) tree {
	var t tree
	for i := range byte(earlierEntries) {
		t.append(leafHash(append(seed[:len(seed):len(seed)], i)))
	}
	return t
}

// Add appends a record. It returns the entry as gitsign stores it, and the canonical body, which gitsign leaves out. An entry of Rekor v1
// has the signed time at; an entry of Rekor v2 has no time.
func (l *Log) Add(r Record, at time.Time) (*rekorpb.TransparencyLogEntry, []byte, error) {
	body, err := l.body(r)
	if err != nil {
		return nil, nil, fmt.Errorf("encode log entry: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	index := int64(l.leaves.size())
	l.leaves.append(leafHash(body))
	entry, err := l.entry(index, body, at)
	return entry, body, err
}

// Entry returns an entry again, with the inclusion proof in the tree as it is now. The index is that in the tree.
func (l *Log) Entry(index int64, body []byte, at time.Time) (*rekorpb.TransparencyLogEntry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entry(index, body, at)
}

// entry returns an entry of the tree. The caller holds the lock.
func (l *Log) entry(index int64, body []byte, at time.Time) (*rekorpb.TransparencyLogEntry, error) {
	proof, err := l.proof(index)
	if err != nil {
		return nil, err
	}
	entry := &rekorpb.TransparencyLogEntry{
		LogIndex: l.first + index,
		LogId:    &commonpb.LogId{KeyId: l.ID},
		// gitsign writes 0.0.1 for every entry, also for entries of Rekor v2.
		KindVersion:      &rekorpb.KindVersion{Kind: "hashedrekord", Version: "0.0.1"},
		InclusionPromise: &rekorpb.InclusionPromise{}, // gitsign writes an empty one for entries of Rekor v2
		InclusionProof:   proof,
	}
	if l.timed {
		entry.IntegratedTime = at.Unix()
		entry.InclusionPromise, err = l.promise(entry, body)
	}
	return entry, err
}

// EntryID returns the name by which Rekor serves an entry.
func EntryID(body []byte) string {
	leaf := leafHash(body)
	return hex.EncodeToString(leaf[:])
}

// Leaves returns the hashes of the entries, without those that a new log already has.
func (l *Log) Leaves() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out [][]byte
	for _, leaf := range l.leaves.levels[0][earlierEntries:] {
		out = append(out, leaf[:])
	}
	return out
}

// Restore appends entries by the hashes that Leaves returned.
func (l *Log) Restore(leaves [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, leaf := range leaves {
		if len(leaf) != len(hash{}) {
			return fmt.Errorf("got a leaf of %d bytes, want %d", len(leaf), len(hash{}))
		}
		l.leaves.append(hash(leaf))
	}
	return nil
}

// promise signs the time of an entry, over the canonical JSON of body, time, index and log.
func (l *Log) promise(entry *rekorpb.TransparencyLogEntry, body []byte) (*rekorpb.InclusionPromise, error) {
	payload, err := json.Marshal(struct {
		Body           []byte `json:"body"`
		IntegratedTime int64  `json:"integratedTime"`
		LogID          string `json:"logID"`
		LogIndex       int64  `json:"logIndex"`
	}{body, entry.IntegratedTime, hex.EncodeToString(l.ID), entry.LogIndex})
	if err != nil {
		return nil, fmt.Errorf("encode entry timestamp: %w", err)
	}
	set, err := l.sign(payload)
	if err != nil {
		return nil, fmt.Errorf("sign entry timestamp: %w", err)
	}
	return &rekorpb.InclusionPromise{SignedEntryTimestamp: set}, nil
}

// proof returns the inclusion proof of an entry in the current tree, with a checkpoint of that tree. The caller holds the lock.
func (l *Log) proof(index int64) (*rekorpb.InclusionProof, error) {
	root := l.leaves.root()
	size := int64(l.leaves.size())
	checkpoint, err := l.checkpoint(size, root)
	if err != nil {
		return nil, err
	}
	var hashes [][]byte
	for _, h := range l.leaves.proof(int(index)) {
		hashes = append(hashes, h[:])
	}
	return &rekorpb.InclusionProof{
		LogIndex: index, RootHash: root[:], TreeSize: size, Hashes: hashes, Checkpoint: &rekorpb.Checkpoint{Envelope: checkpoint},
	}, nil
}

// checkpoint returns a signed note about a tree's size and root.
//
// Source: C2SP tlog-checkpoint and signed-note.
func (l *Log) checkpoint(size int64, root hash) (string, error) {
	text := fmt.Sprintf("%s\n%d\n%s\n", l.origin, size, base64.StdEncoding.EncodeToString(root[:]))
	signature, err := l.sign([]byte(text))
	if err != nil {
		return "", fmt.Errorf("sign checkpoint: %w", err)
	}
	line := base64.StdEncoding.EncodeToString(append(noteKeyID(l.Host, l.Key.Public(), l.Public)[:4:4], signature...))
	return fmt.Sprintf("%s\n\u2014 %s %s\n", text, l.Host, line), nil
}

// sign signs with the log's key: ECDSA over SHA-256, or plain Ed25519.
func (l *Log) sign(message []byte) ([]byte, error) {
	if _, ok := l.Key.(*ecdsa.PrivateKey); ok {
		digest := sha256.Sum256(message)
		return l.Key.Sign(nil, digest[:], crypto.SHA256) // without randomness (RFC 6979)
	}
	return l.Key.Sign(nil, message, crypto.Hash(0))
}

// noteKeyID returns the identifier of a key in signed notes. For Ed25519 it is a hash of the signer's name and the key. For ECDSA it is the
// SHA-256 of the public key as DER, as in Rekor.
func noteKeyID(name string, public crypto.PublicKey, der []byte) []byte {
	if key, ok := public.(ed25519.PublicKey); ok {
		const ed25519Signature = 1
		id := sha256.Sum256(append(append([]byte(name+"\n"), ed25519Signature), key...))
		return id[:]
	}
	id := sha256.Sum256(der)
	return id[:]
}
