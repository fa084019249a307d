package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/manifest"
)

// write writes a manifest to its file and returns the path. The file is complete or does not exist.
func (a *adopter) write(adopted manifest.Adopted) (string, error) {
	if err := os.MkdirAll(a.opts.dir, 0o755); err != nil { //nolint:gosec // a working copy, which other users of the host may read
		return "", fmt.Errorf("could not be written: %w", err)
	}
	name := strings.ToLower(string(adopted.Kind) + "-" + adopted.Name + ".yaml")
	path := filepath.Join(a.opts.dir, name)
	err := writeAtomically(path, adopted.Data, a.opts.force)
	if errors.Is(err, fs.ErrExist) {
		return "", term.WithHint(fmt.Errorf("would be written to %s, which exists", path), "--force overwrites it")
	}
	if err != nil {
		return "", fmt.Errorf("could not be written: %w", err)
	}
	return path, nil
}

// writeAtomically writes a temporary file beside path and moves it to path. If path exists, it replaces the file if overwrite is set, and
// returns fs.ErrExist otherwise.
func writeAtomically(path string, data []byte, overwrite bool) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".adopt-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // does nothing after a rename
	_, err = io.Copy(file, bytes.NewReader(data))
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close()) // git and editors read it
	switch {
	case err != nil:
		return err
	case overwrite:
		return os.Rename(file.Name(), path)
	default:
		return os.Link(file.Name(), path)
	}
}

// print prints the manifests, or the paths of their files.
func (a *adopter) print(out io.Writer) error {
	switch {
	case a.opts.output == outputJSON:
		return term.WriteJSON(out, a.document())
	case a.opts.dir != "":
		a.printFiles(out)
		return nil
	}
	for i, g := range a.done {
		if i > 0 {
			_, _ = fmt.Fprintln(out, "---")
		}
		if _, err := out.Write(g.Data); err != nil {
			return fmt.Errorf("write manifest: %w", err)
		}
	}
	return nil
}

func (a *adopter) printFiles(out io.Writer) {
	var t term.Table
	for _, g := range a.done {
		left := ""
		if len(g.Left) > 0 {
			left = strconv.Itoa(len(g.Left)) + " not pinned, see the comment in the file"
		}
		t.AddText(g.label(), strconv.Itoa(g.VMID), g.file, term.Count(len(g.Pinned), "key")+" pinned", left)
	}
	t.Write(out, term.NewPalette(out))
	_, _ = fmt.Fprintf(out, "Adopted %s; %d refused\n", term.Count(len(a.done), "guest"), len(a.refused))
}

// adoptDocument is the JSON result.
type adoptDocument struct {
	SchemaVersion int           `json:"schemaVersion"`
	Guests        []adoptView   `json:"guests"`
	Refused       []refusedView `json:"refused"`
}

type adoptView struct {
	Kind     string     `json:"kind"`
	Name     string     `json:"name"`
	VMID     int        `json:"vmid"`
	File     string     `json:"file,omitempty"`
	Manifest string     `json:"manifest"`
	Pinned   []string   `json:"pinned"`
	Left     []leftView `json:"left"`
}

type leftView struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

type refusedView struct {
	VMID   int    `json:"vmid"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

func (a *adopter) document() adoptDocument {
	d := adoptDocument{SchemaVersion: term.SchemaVersion, Guests: []adoptView{}, Refused: []refusedView{}}
	for _, g := range a.done {
		view := adoptView{
			Kind: string(g.Kind), Name: g.Name, VMID: g.VMID, File: g.file, Manifest: string(g.Data), Pinned: g.Pinned, Left: []leftView{},
		}
		for _, l := range g.Left {
			view.Left = append(view.Left, leftView{l.Key, l.Reason})
		}
		d.Guests = append(d.Guests, view)
	}
	for _, r := range a.refused {
		d.Refused = append(d.Refused, refusedView{r.vmid, r.err.Error(), hintFor(r.err)})
	}
	return d
}
