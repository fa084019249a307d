package sigtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
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

// rekorLog is one generation of a Rekor log, with its own tree and its own key.
type rekorLog struct {
	part   Part
	window window
	host   string // the log's name in its URL and in the signatures of its checkpoints
	origin string // first line of its checkpoints
	key    crypto.Signer
	public []byte // SubjectPublicKeyInfo
	id     []byte // how entries name the log
	first  int64  // index of this tree's first entry among all trees of the service

	mu     sync.Mutex
	leaves tree
}

// earlierEntries is the number of entries that a new log already has, so that no proof is empty.
const earlierEntries = 5

// newRekorV1 returns a log with an ECDSA key that signs the time of each entry.
func newRekorV1(src keySource, w window) (*rekorLog, error) {
	key, err := src.ecdsa(p256, "log")
	if err != nil {
		return nil, err
	}
	public, err := spki(key.Public())
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(public)
	host := fmt.Sprintf("rekor-%d.%s", src.generation+1, src.options.Name)
	treeID := binary.BigEndian.Uint64(id[:]) >> 1
	return &rekorLog{
		part: RekorV1, window: w, host: host, origin: fmt.Sprintf("%s - %d", host, treeID), key: key, public: public, id: id[:],
		first: int64(src.generation+1) * 1_000_000, leaves: newTree(id[:]),
	}, nil
}

// newRekorV2 returns a log that signs only checkpoints and records no times.
func newRekorV2(src keySource, w window) (*rekorLog, error) {
	key, err := src.rekorV2Key()
	if err != nil {
		return nil, err
	}
	public, err := spki(key.Public())
	if err != nil {
		return nil, err
	}
	host := fmt.Sprintf("log-%d.rekor.%s", src.generation+1, src.options.Name)
	id := noteKeyID(host, key.Public())
	return &rekorLog{
		part: RekorV2, window: w, host: host, origin: host, key: key, public: public, id: id, leaves: newTree(id),
	}, nil
}

// rekorV2Key derives the key of a Rekor v2 log.
func (k keySource) rekorV2Key() (crypto.Signer, error) {
	switch kind := k.options.RekorV2Key; kind {
	case "", Ed25519:
		return k.ed25519("log")
	case P256:
		return k.ecdsa(p256, "log")
	case P384:
		fallthrough
	default:
		return nil, fmt.Errorf("choose log's key: got %q, want %s or %s", string(kind), Ed25519, P256)
	}
}

// newTree returns a tree with the entries that a new log already has.
func newTree(seed []byte) tree {
	var t tree
	for i := range byte(earlierEntries) {
		t.append(leafHash(append(seed[:len(seed):len(seed)], i)))
	}
	return t
}

// addEntry appends a record. It returns the entry as gitsign stores it, and the canonical body, which gitsign leaves out. An entry of Rekor v1
// has the signed time at; an entry of Rekor v2 has no time.
func (l *rekorLog) addEntry(r record, at time.Time) (*rekorpb.TransparencyLogEntry, []byte, error) {
	body, err := l.body(r)
	if err != nil {
		return nil, nil, fmt.Errorf("encode log entry: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	index := int64(l.leaves.size())
	l.leaves.append(leafHash(body))
	proof, err := l.proof(index)
	if err != nil {
		return nil, nil, err
	}
	entry := &rekorpb.TransparencyLogEntry{
		LogIndex: l.first + index,
		LogId:    &commonpb.LogId{KeyId: l.id},
		// gitsign writes 0.0.1 for every entry, also for entries of Rekor v2.
		KindVersion:      &rekorpb.KindVersion{Kind: "hashedrekord", Version: "0.0.1"},
		InclusionPromise: &rekorpb.InclusionPromise{}, // gitsign writes an empty one for entries of Rekor v2
		InclusionProof:   proof,
	}
	if l.part == RekorV1 {
		entry.IntegratedTime = at.Unix()
		entry.InclusionPromise, err = l.promise(entry, body)
	}
	return entry, body, err
}

// promise signs the time of an entry, over the canonical JSON of body, time, index and log.
func (l *rekorLog) promise(entry *rekorpb.TransparencyLogEntry, body []byte) (*rekorpb.InclusionPromise, error) {
	payload, err := json.Marshal(struct {
		Body           []byte `json:"body"`
		IntegratedTime int64  `json:"integratedTime"`
		LogID          string `json:"logID"`
		LogIndex       int64  `json:"logIndex"`
	}{body, entry.IntegratedTime, hex.EncodeToString(l.id), entry.LogIndex})
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
func (l *rekorLog) proof(index int64) (*rekorpb.InclusionProof, error) {
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
func (l *rekorLog) checkpoint(size int64, root hash) (string, error) {
	text := fmt.Sprintf("%s\n%d\n%s\n", l.origin, size, base64.StdEncoding.EncodeToString(root[:]))
	signature, err := l.sign([]byte(text))
	if err != nil {
		return "", fmt.Errorf("sign checkpoint: %w", err)
	}
	line := base64.StdEncoding.EncodeToString(append(noteKeyID(l.host, l.key.Public())[:4:4], signature...))
	return fmt.Sprintf("%s\n\u2014 %s %s\n", text, l.host, line), nil
}

// sign signs with the log's key: ECDSA over SHA-256, or plain Ed25519.
func (l *rekorLog) sign(message []byte) ([]byte, error) {
	if key, ok := l.key.(*ecdsa.PrivateKey); ok {
		return signECDSA(key, message)
	}
	return l.key.Sign(nil, message, crypto.Hash(0))
}

// noteKeyID returns the identifier of a key in signed notes. For Ed25519 it is a hash of the signer's name and the key. For ECDSA it is the
// SHA-256 of the public key, as in Rekor.
func noteKeyID(name string, public crypto.PublicKey) []byte {
	if key, ok := public.(ed25519.PublicKey); ok {
		const ed25519Signature = 1
		id := sha256.Sum256(append(append([]byte(name+"\n"), ed25519Signature), key...))
		return id[:]
	}
	der, err := spki(public)
	if err != nil {
		panic("sigtest: " + err.Error()) // the key was encoded when the log was made
	}
	id := sha256.Sum256(der)
	return id[:]
}
