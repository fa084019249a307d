package gittest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/adler32"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gitops-agent/internal/sigtest"
)

// Repo is a bare repository whose branch is main. Files is the content of the next commit, by path; folders are not supported.
type Repo struct {
	Dir   string
	Tip   string // commit of main, "" before the first
	Files map[string]string

	tb testing.TB
}

// New creates an empty repository that is removed after the test.
func New(tb testing.TB) *Repo {
	tb.Helper()
	r := &Repo{Dir: filepath.Join(tb.TempDir(), "forge.git"), Files: map[string]string{}, tb: tb}
	r.write("config", []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n"))
	r.write("HEAD", []byte("ref: refs/heads/main\n"))
	for _, dir := range []string{"objects", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(r.Dir, dir), 0o750); err != nil {
			tb.Fatal(err)
		}
	}
	return r
}

// Push commits Files, signed by who, moves main to the commit and returns the id of the commit.
func (r *Repo) Push(sig *sigtest.Sigstore, who sigtest.Identity, message string) string {
	r.tb.Helper()
	spec := sigtest.CommitSpec{Tree: r.Tree(), Message: message}
	if r.Tip != "" {
		spec.Parents = []string{r.Tip}
	}
	raw, id, err := sig.Commit(spec, who, sigtest.SignOptions{})
	if err != nil {
		r.tb.Fatal(err)
	}
	return r.Place(raw, id)
}

// PushOnline is Push by a person who signs in gitsign's online mode. It also returns what was logged.
func (r *Repo) PushOnline(sig *sigtest.Sigstore, who sigtest.Identity, message string, opts sigtest.SignOptions) (string, *sigtest.Online) {
	r.tb.Helper()
	spec := sigtest.CommitSpec{Tree: r.Tree(), Message: message}
	if r.Tip != "" {
		spec.Parents = []string{r.Tip}
	}
	raw, logged, err := sig.CommitOnline(spec, who, opts)
	if err != nil {
		r.tb.Fatal(err)
	}
	return r.Place(raw, logged.ID), logged
}

// Note replaces the note about an object in a ref with notes.
func (r *Repo) Note(ref, about string, text []byte) {
	r.tb.Helper()
	before := ""
	if id := strings.TrimSpace(r.Git(nil, "for-each-ref", "--format=%(objectname)", ref)); id != "" {
		before = "from " + id + "\n"
	}
	r.Git(fmt.Appendf(nil, "commit %s\ncommitter A <a@lab.test> 1700000000 +0000\ndata 0\n%sN inline %s\ndata %d\n%s\n", ref, before, about, len(text), text),
		"fast-import", "--quiet", "--date-format=raw", "--force")
}

// Place stores the raw bytes of a commit, moves main to it and returns id. It fails the test if the bytes have another id.
func (r *Repo) Place(raw []byte, id string) string {
	r.tb.Helper()
	if got := r.object("commit", raw); got != id {
		r.tb.Fatalf("got commit %s, want %s", got, id)
	}
	r.SetMain(id)
	r.Tip = id
	return id
}

// SetMain moves main to a commit without a check of the commit. It does not change Tip.
func (r *Repo) SetMain(id string) {
	r.tb.Helper()
	r.write("refs/heads/main", []byte(id+"\n"))
}

// Tree writes Files as a tree, with a tree for each folder, and returns its id.
func (r *Repo) Tree() string {
	r.tb.Helper()
	return r.tree(r.Files)
}

func (r *Repo) tree(files map[string]string) string {
	r.tb.Helper()
	entries := make(map[string]string, len(files)) // mode and id, by the name by which git sorts: that of a folder ends in a slash
	folders := make(map[string]map[string]string)
	for name, content := range files {
		folder, below, nested := strings.Cut(name, "/")
		if !nested {
			entries[name] = "100644 " + r.object("blob", []byte(content))
			continue
		}
		if folders[folder] == nil {
			folders[folder] = make(map[string]string)
		}
		folders[folder][below] = content
	}
	for folder, content := range folders {
		entries[folder+"/"] = "40000 " + r.tree(content)
	}
	var tree []byte
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		mode, id, _ := strings.Cut(entries[name], " ")
		raw, err := hex.DecodeString(id)
		if err != nil {
			r.tb.Fatal(err)
		}
		tree = append(append(tree, mode+" "+strings.TrimSuffix(name, "/")+"\x00"...), raw...)
	}
	return r.object("tree", tree)
}

func (r *Repo) object(kind string, content []byte) string {
	r.tb.Helper()
	id, err := WriteObject(r.Dir, kind, content)
	if err != nil {
		r.tb.Fatal(err)
	}
	return id
}

// WriteObject stores a blob, tree, commit or tag in the repository in dir, unless the repository has it, and returns its id. The object is loose, as git writes
// it but without compression. A git process for each object would take most of the time of a test that pushes often.
func WriteObject(dir, kind string, content []byte) (id string, err error) {
	id = sigtest.ObjectID(kind, content)
	file := filepath.Join(dir, "objects", id[:2], id[2:])
	if _, err := os.Lstat(file); err == nil {
		return id, nil
	}
	return id, replaceFile(file, zlibStored(fmt.Appendf(nil, "%s %d\x00%s", kind, len(content), content)))
}

// replaceFile writes a file, and its folder, in one step: a process that reads it at the same time never sees half of it.
func replaceFile(file string, content []byte) error {
	err := os.WriteFile(file+".new", content, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return err
		}
		err = os.WriteFile(file+".new", content, 0o600)
	}
	if err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// zlibStored returns the bytes of a zlib stream (RFC 1950) that contains content without compression. A zlib.Writer takes more time to make than to use.
func zlibStored(content []byte) []byte {
	out := []byte{0x78, 0x01}
	for rest, last := content, false; !last; {
		n := min(len(rest), math.MaxUint16)
		final := byte(0)
		if last = n == len(rest); last {
			final = 1
		}
		out = append(out, final)
		out = binary.LittleEndian.AppendUint16(out, uint16(n))  //nolint:gosec // at most MaxUint16
		out = binary.LittleEndian.AppendUint16(out, ^uint16(n)) //nolint:gosec // at most MaxUint16
		out, rest = append(out, rest[:n]...), rest[n:]
	}
	return binary.BigEndian.AppendUint32(out, adler32.Checksum(content))
}

// write replaces a file of the repository in one step, so that a git process that runs at the same time never reads half of the file.
func (r *Repo) write(name string, content []byte) {
	r.tb.Helper()
	if err := replaceFile(filepath.Join(r.Dir, name), content); err != nil {
		r.tb.Fatal(err)
	}
}

// Git runs git on the repository, without the settings of the user who runs the tests, and returns its output.
func (r *Repo) Git(stdin []byte, args ...string) string {
	r.tb.Helper()
	cmd := exec.CommandContext(r.tb.Context(), "git", args...)
	cmd.Env = append(os.Environ(), "GIT_DIR="+r.Dir, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}
