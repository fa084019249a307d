package sigtest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"time"

	"gitops-agent/internal/sigtest/rekor"
)

// RekorServer serves the search index and the entries of what LogOnline logged, as a Rekor v1 server does. It calls load for each request, so that it
// can serve a Sigstore to which other processes add entries.
func RekorServer(load func() (*Sigstore, error)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/index/retrieve", func(w http.ResponseWriter, r *http.Request) {
		var query struct {
			Hash      string `json:"hash"`
			PublicKey struct {
				Content []byte `json:"content"`
			} `json:"publicKey"`
		}
		s, err := load()
		if err != nil || json.NewDecoder(r.Body).Decode(&query) != nil {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		found := []string{}
		for _, e := range s.onlineEntries() {
			if hash, certificate := e.subject(); "sha256:"+hash == query.Hash || certificate != "" && certificate == string(query.PublicKey.Content) {
				found = append(found, rekor.EntryID(e.Body))
			}
		}
		reply(w, found)
	})
	mux.HandleFunc("GET /api/v1/log/entries/{name}", func(w http.ResponseWriter, r *http.Request) {
		s, err := load()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		for _, e := range s.onlineEntries() {
			if name := rekor.EntryID(e.Body); name == r.PathValue("name") {
				s.serveEntry(w, name, e)
				return
			}
		}
		http.NotFound(w, r)
	})
	return mux
}

func (s *Sigstore) onlineEntries() []onlineEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.online
}

// subject returns the digest that an entry is about, and its certificate as PEM.
func (e onlineEntry) subject() (hash, certificate string) {
	var body struct {
		Spec struct {
			Data      struct{ Hash struct{ Value string } }
			Signature struct{ PublicKey struct{ Content []byte } }
		}
	}
	if json.Unmarshal(e.Body, &body) != nil {
		return "", ""
	}
	if block, _ := pem.Decode(body.Spec.Signature.PublicKey.Content); block == nil {
		return "", ""
	}
	return body.Spec.Data.Hash.Value, string(body.Spec.Signature.PublicKey.Content)
}

// serveEntry writes an entry in the form of Rekor's API.
func (s *Sigstore) serveEntry(w http.ResponseWriter, name string, e onlineEntry) {
	entry, err := s.rekorV1[e.Generation].Entry(e.Index, e.Body, time.Unix(e.Time, 0))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	proof := entry.GetInclusionProof()
	hashes := []string{}
	for _, h := range proof.GetHashes() {
		hashes = append(hashes, hex.EncodeToString(h))
	}
	reply(w, map[string]any{name: map[string]any{
		"body": base64.StdEncoding.EncodeToString(e.Body), "integratedTime": e.Time, "logID": hex.EncodeToString(entry.GetLogId().GetKeyId()),
		"logIndex": entry.GetLogIndex(),
		"verification": map[string]any{
			"inclusionProof": map[string]any{
				"checkpoint": proof.GetCheckpoint().GetEnvelope(), "hashes": hashes, "logIndex": proof.GetLogIndex(),
				"rootHash": hex.EncodeToString(proof.GetRootHash()), "treeSize": proof.GetTreeSize(),
			},
			"signedEntryTimestamp": entry.GetInclusionPromise().GetSignedEntryTimestamp(),
		},
	}})
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the client sees what is missing
}
