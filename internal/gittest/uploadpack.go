package gittest

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // of git's format
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
)

// UploadPack serves the repository in dir as git upload-pack does, in protocol version 0 and without a process. Its type is that of
// gitsource.Options.UploadPack. The objects must be loose, as this package and the git program write few of them. The context is not needed: the
// caller closes in and out.
func UploadPack(_ context.Context, dir string, in io.Reader, out io.Writer) error {
	s := server{dir: dir}
	refs, err := s.refs()
	if err != nil {
		return err
	}
	if err := advertise(out, refs); err != nil {
		return err
	}
	wants, haves, err := readRequest(in)
	if err != nil || len(wants) == 0 {
		return err
	}
	common := ""
	for _, id := range haves {
		if _, err := os.Stat(s.file(id)); err == nil {
			s.common, common = append(s.common, id), id
		}
	}
	reply := pktline.NewEncoder(out)
	if common == "" {
		err = reply.EncodeString("NAK\n")
	} else {
		err = reply.EncodeString("ACK " + common + "\n")
	}
	if err != nil {
		return err
	}
	for _, id := range wants {
		if err := s.add(id); err != nil {
			return err
		}
	}
	return sendPack(reply, s.pack)
}

// A server collects the objects of one pack.
type server struct {
	dir    string
	common []string        // commits that the client has
	seen   map[string]bool // objects that are in the pack, or that the client has
	pack   []packed
}

// packed is an object of a pack.
type packed struct {
	kind    string
	content []byte
}

func (s *server) file(id string) string {
	return filepath.Join(s.dir, "objects", id[:2], id[2:])
}

// refs returns the refs and what they point at: HEAD if its branch exists, and the objects of tags as NAME^{}.
func (s *server) refs() (map[string]string, error) {
	refs := make(map[string]string)
	err := filepath.WalkDir(filepath.Join(s.dir, "refs"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(file, ".new") || strings.HasSuffix(file, ".lock") {
			return err
		}
		id, err := os.ReadFile(file) //nolint:gosec // of the test's repository
		if err != nil {
			return err
		}
		name, err := filepath.Rel(s.dir, file)
		refs[filepath.ToSlash(name)] = strings.TrimSpace(string(id))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("'%s' does not appear to be a git repository: %w", s.dir, err)
	}
	head, err := os.ReadFile(filepath.Join(s.dir, "HEAD"))
	if err != nil {
		return nil, err
	}
	if id, ok := refs[strings.TrimPrefix(strings.TrimSpace(string(head)), "ref: ")]; ok {
		refs["HEAD"] = id
	}
	for name, id := range refs {
		if !strings.HasPrefix(name, "refs/tags/") {
			continue
		}
		kind, content, err := s.read(id)
		if err != nil {
			return nil, err
		}
		if target := header(content, "object"); kind == "tag" && len(target) == 1 {
			refs[name+"^{}"] = target[0]
		}
	}
	return refs, nil
}

// advertise writes the refs, HEAD first.
func advertise(out io.Writer, refs map[string]string) error {
	capabilities := "\x00side-band-64k ofs-delta no-progress object-format=sha1 agent=git/gittest"
	e := pktline.NewEncoder(out)
	for _, name := range slices.SortedFunc(maps.Keys(refs), func(a, b string) int {
		if (a == "HEAD") != (b == "HEAD") {
			return cmp.Compare(b, a)
		}
		return cmp.Compare(a, b)
	}) {
		if err := e.Encodef("%s %s%s\n", refs[name], name, capabilities); err != nil {
			return err
		}
		capabilities = ""
	}
	return e.Flush()
}

// readRequest reads what the client wants and has. A client that wants nothing ends with a flush packet.
func readRequest(in io.Reader) (wants, haves []string, err error) {
	lines := pktline.NewScanner(in)
	for lines.Scan() {
		word, rest, _ := strings.Cut(strings.TrimSpace(string(lines.Bytes())), " ")
		id, _, _ := strings.Cut(rest, " ") // the first want has capabilities
		switch {
		case word == "done":
			return wants, haves, nil
		case word == "" && len(wants) == 0:
			return nil, nil, nil
		case word == "": // the end of the wants
		case len(id) != 2*sha1.Size:
			return nil, nil, fmt.Errorf("unexpected line %q", lines.Bytes())
		case word == "want":
			wants = append(wants, id)
		case word == "have":
			haves = append(haves, id)
		}
	}
	return nil, nil, lines.Err()
}

// add adds an object and all that it leads to, except for what the client has.
func (s *server) add(id string) error {
	if s.seen == nil {
		s.seen = make(map[string]bool)
	}
	var trees []string
	for queue := []string{id}; len(queue) > 0; {
		id, queue = queue[0], queue[1:]
		switch {
		case s.seen[id]:
		case slices.Contains(s.common, id): // also with what its tree leads to
			s.seen[id] = true
			_, content, err := s.read(id)
			if err == nil {
				err = s.walk(header(content, "tree"), func(packed) {})
			}
			if err != nil {
				return err
			}
		default:
			s.seen[id] = true
			kind, content, err := s.read(id)
			if err != nil {
				return err
			}
			s.pack = append(s.pack, packed{kind, content})
			switch kind {
			case "commit":
				trees = append(trees, header(content, "tree")...)
				queue = append(queue, header(content, "parent")...)
			case "tag":
				queue = append(queue, header(content, "object")...)
			}
		}
	}
	return s.walk(trees, func(p packed) { s.pack = append(s.pack, p) })
}

// walk reads objects of trees, and everything below them, that it has not seen.
func (s *server) walk(stack []string, found func(packed)) error {
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.seen[id] {
			continue
		}
		s.seen[id] = true
		kind, content, err := s.read(id)
		if err != nil {
			return err
		}
		found(packed{kind, content})
		for rest := content; kind == "tree" && len(rest) > 0; {
			mode, after, _ := bytes.Cut(rest, []byte(" "))
			_, after, ok := bytes.Cut(after, []byte{0})
			if !ok || len(after) < sha1.Size {
				return fmt.Errorf("tree %s is malformed", id)
			}
			rest = after[sha1.Size:]
			if string(mode) != "160000" { // a submodule is in another repository
				stack = append(stack, hex.EncodeToString(after[:sha1.Size]))
			}
		}
	}
	return nil
}

// read returns the type and the content of a loose object.
func (s *server) read(id string) (kind string, content []byte, err error) {
	file, err := os.Open(s.file(id))
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	unpacked, err := zlib.NewReader(bufio.NewReader(file))
	if err != nil {
		return "", nil, fmt.Errorf("object %s: %w", id, err)
	}
	raw, err := io.ReadAll(unpacked)
	if err != nil {
		return "", nil, fmt.Errorf("object %s: %w", id, err)
	}
	head, content, _ := bytes.Cut(raw, []byte{0})
	kind, _, _ = strings.Cut(string(head), " ")
	return kind, content, nil
}

// header returns the ids in the lines of a commit or tag that begin with a word.
func header(content []byte, word string) []string {
	var ids []string
	head, _, _ := bytes.Cut(content, []byte("\n\n"))
	for line := range strings.Lines(string(head)) {
		if id, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), word+" "); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// packTypes are the numbers of types in packs. Source: gitformat-pack.
var packTypes = map[string]byte{"commit": 1, "tree": 2, "blob": 3, "tag": 4}

// sendPack writes a pack of whole objects in the packets of the side band.
func sendPack(reply *pktline.Encoder, objects []packed) error {
	pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects))) //nolint:gosec // a few
	for _, o := range objects {
		size := len(o.content)
		first := packTypes[o.kind]<<4 | byte(size&0x0f)
		if size >>= 4; size > 0 {
			first |= 0x80
		}
		pack = append(pack, first)
		if size > 0 {
			pack = binary.AppendUvarint(pack, uint64(size))
		}
		pack = append(pack, zlibStored(o.content)...)
	}
	sum := sha1.Sum(pack) //nolint:gosec // of git's format
	for chunk := range slices.Chunk(append(pack, sum[:]...), pktline.MaxPayloadSize-1) {
		if err := reply.Encode(append([]byte{1}, chunk...)); err != nil {
			return err
		}
	}
	return reply.Flush()
}
