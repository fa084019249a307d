package sigtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Names of the files that Save writes.
const (
	stateFile = "sigstore.json"
	// TrustedRootFile is the name of the trusted root that Save writes.
	TrustedRootFile = "trusted_root.json"
)

// state is the saved form of a Sigstore: its options with the seed, the windows of its keys, and the entries of its logs.
type state struct {
	Options Options             `json:"options"`
	Windows map[Part][]window   `json:"windows"`
	Leaves  map[Part][][][]byte `json:"leaves"` // by generation: hashes of the entries, without those that a new log already has
	Online  []onlineEntry       `json:"online,omitempty"`
}

// Save writes the Sigstore to a directory, which must exist. Load continues it, also in another process. Save also writes TrustedRootFile. Each
// file is replaced as a whole. If two processes load, sign and save at the same time, the later one overwrites the log entries of the other.
func (s *Sigstore) Save(dir string) error {
	root, err := s.TrustedRoot()
	if err != nil {
		return err
	}
	raw, err := json.Marshal(s.state())
	if err != nil {
		return fmt.Errorf("encode Sigstore: %w", err)
	}
	if err := replaceFile(filepath.Join(dir, stateFile), raw); err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, TrustedRootFile), root)
}

// Load continues a Sigstore that was saved to a directory. The error wraps fs.ErrNotExist if the directory contains no saved Sigstore.
func Load(dir string) (*Sigstore, error) {
	raw, err := os.ReadFile(filepath.Join(dir, stateFile)) //nolint:gosec // the caller chooses the directory
	if err != nil {
		return nil, fmt.Errorf("read Sigstore: %w", err)
	}
	var saved state
	if err := json.Unmarshal(raw, &saved); err != nil {
		return nil, fmt.Errorf("parse %s: %w", stateFile, err)
	}
	s, err := New(saved.Options)
	if err != nil {
		return nil, err
	}
	return s, s.restore(saved)
}

func (s *Sigstore) state() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := state{Options: s.options, Online: s.online, Windows: map[Part][]window{}, Leaves: map[Part][][][]byte{}}
	for _, ca := range s.cas {
		out.Windows[CA] = append(out.Windows[CA], ca.window)
	}
	for _, log := range s.ctLogs {
		out.Windows[CTLog] = append(out.Windows[CTLog], log.window)
	}
	for _, tsa := range s.tsas {
		out.Windows[TSA] = append(out.Windows[TSA], tsa.window)
	}
	for part, logs := range s.rekorLogs() {
		for _, log := range logs {
			out.Windows[part] = append(out.Windows[part], log.window)
			out.Leaves[part] = append(out.Leaves[part], log.Leaves())
		}
	}
	return out
}

// restore brings a Sigstore that has one generation of each part to a saved state.
func (s *Sigstore) restore(saved state) error {
	for part, windows := range saved.Windows {
		for i, w := range windows {
			if i > 0 {
				if err := s.add(part, w); err != nil {
					return err
				}
			}
			*s.window(part) = w
		}
	}
	for part, logs := range s.rekorLogs() {
		for i, leaves := range saved.Leaves[part] {
			if i == len(logs) {
				return fmt.Errorf("restore %s: got leaves for %d logs, want %d", part, len(saved.Leaves[part]), len(logs))
			}
			if err := logs[i].Restore(leaves); err != nil {
				return fmt.Errorf("restore %s: %w", part, err)
			}
		}
	}
	s.online = saved.Online
	return nil
}

// rekorLogs returns both kinds of Rekor logs. The caller holds the lock, or no other goroutine uses s yet.
func (s *Sigstore) rekorLogs() map[Part][]*rekorLog {
	return map[Part][]*rekorLog{RekorV1: s.rekorV1, RekorV2: s.rekorV2}
}

// replaceFile writes a temporary file in the same directory and renames it.
func replaceFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(file.Name()) // does nothing once renamed
	_, err = file.Write(content)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
