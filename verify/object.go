package verify

import (
	"bytes"
	"crypto/sha256"

	"gitops-agent/gitsource"
)

const (
	// maxObject is the largest accepted commit or tag object, in bytes.
	maxObject = 1 << 20
	// maxHeaders is how many headers an object may have. git writes one parent header for each branch that a merge joins.
	maxHeaders = 1000
)

// An object is a git object, split without changing a byte into the payload, which the signature covers, and the
// signature. All other fields are read from payload, never by a second parser.
type object struct {
	payload   []byte // the object without its signature, byte for byte
	signature []byte // armored, with its final newline; empty if the object is not signed
	offset    int    // position in payload where the signature was removed

	tree    gitsource.ID // of a commit
	parents []gitsource.ID
	target  gitsource.ID // of a tag
	kind    string       // of a tag: the type of target
	name    string       // of a tag
	message []byte       // part of payload
}

// digest is the SHA-256 of the payload. The object's id depends on the encoding of the signature, and the digest does
// not. So the digest identifies the signed content better than the id.
func (o object) digest() [sha256.Size]byte { return sha256.Sum256(o.payload) }

// splitCommit splits a commit object. It accepts only the layout that git writes: tree, parents, author, committer, then
// other headers, then at most one gpgsig, then an empty line and the message. It refuses every layout that another reader
// could understand differently: a repeated or misplaced header, a NUL byte among the headers, a continuation of a one-line
// header, and gpgsig-sha256, which the signature does not cover. A gpgsig elsewhere would give the same payload another id.
func splitCommit(raw []byte) (object, error) {
	headers, message, err := splitHeaders(raw)
	if err != nil {
		return object{}, err
	}
	var o object
	rest, err := o.readFixedHeaders(headers)
	if err != nil {
		return object{}, err
	}
	if err := o.extractSignature(raw, rest); err != nil {
		return object{}, err
	}
	o.message = o.payload[len(o.payload)-len(message):]
	return o, nil
}

// readFixedHeaders reads the headers that every commit begins with, and returns the headers after them.
func (o *object) readFixedHeaders(headers []header) ([]header, error) {
	for position, h := range headers {
		if h.lines != 1 && isReserved(h.key) {
			return nil, refuse(ReasonMalformed, "header %q has a continuation line", h.key)
		}
		switch {
		case position == 0 && h.key == "tree":
			id, err := gitsource.ParseID(string(h.value))
			if err != nil {
				return nil, refuse(ReasonMalformed, "tree: %w", err)
			}
			o.tree = id
		case h.key == "parent":
			id, err := gitsource.ParseID(string(h.value))
			if err != nil {
				return nil, refuse(ReasonMalformed, "parent: %w", err)
			}
			o.parents = append(o.parents, id)
		case o.tree != "" && h.key == "author" && position+1 < len(headers) && headers[position+1].key == "committer":
			if headers[position+1].lines != 1 {
				return nil, refuse(ReasonMalformed, "header committer has a continuation line")
			}
			return headers[position+2:], nil
		default:
			return nil, refuse(ReasonMalformed, "got header %q, want tree, parents, author, committer in this order", h.key)
		}
	}
	return nil, refuse(ReasonMalformed, "headers end before author and committer")
}

// extractSignature finds the gpgsig header among headers, sets the signature, and sets the payload to raw without it.
func (o *object) extractSignature(raw []byte, headers []header) error {
	o.payload = raw
	hasEncoding := false
	for position, h := range headers {
		switch {
		case h.key == "gpgsig-sha256":
			return refuse(ReasonMalformed, "header gpgsig-sha256 is not covered by the signature")
		case isReserved(h.key):
			return refuse(ReasonMalformed, "header %q after committer", h.key)
		case hasEncoding && h.key == "encoding":
			return refuse(ReasonMalformed, "header encoding occurs twice")
		case h.key == "gpgsig" && position != len(headers)-1:
			return refuse(ReasonMalformed, "header gpgsig is not the last one")
		case h.key == "gpgsig":
			o.offset = h.start
			o.signature = append(bytes.Clone(h.value), '\n')
			o.payload = append(bytes.Clone(raw[:h.start]), raw[h.end:]...)
		}
		hasEncoding = hasEncoding || h.key == "encoding"
	}
	return nil
}

// splitTag splits an annotated tag: object, type, tag, tagger, an empty line, the message, and at the end of the message
// the signature. A PGP or SSH signature is split off too; unarmor refuses it.
func splitTag(raw []byte) (object, error) {
	headers, message, err := splitHeaders(raw)
	if err != nil {
		return object{}, err
	}
	want := []string{"object", "type", "tag", "tagger"}
	if len(headers) != len(want) {
		return object{}, refuse(ReasonMalformed, "got %d headers, want object, type, tag, tagger", len(headers))
	}
	for i, h := range headers {
		if h.key != want[i] || h.lines != 1 {
			return object{}, refuse(ReasonMalformed, "got header %q, want %q on one line", h.key, want[i])
		}
	}
	target, err := gitsource.ParseID(string(headers[0].value))
	if err != nil {
		return object{}, refuse(ReasonMalformed, "object: %w", err)
	}
	start := len(raw) - len(message) + signatureStart(message)
	if bytes.Count(raw, []byte(armorBegin)) > 1 {
		return object{}, refuse(ReasonMalformed, "more than one signature")
	}
	return object{
		payload: raw[:start], signature: raw[start:], offset: start,
		target: target, kind: string(headers[1].value), name: string(headers[2].value), message: raw[len(raw)-len(message) : start],
	}, nil
}

// signatureStart returns the position in a tag's message where the signature begins, or the message's length.
func signatureStart(message []byte) int {
	for at := 0; at < len(message); {
		line := message[at:]
		for _, begin := range []string{armorBegin, "-----BEGIN PGP ", "-----BEGIN SSH "} {
			if bytes.HasPrefix(line, []byte(begin)) {
				return at
			}
		}
		end := bytes.IndexByte(line, '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	return len(message)
}

// A header is one header of a git object with its position in the object, continuation lines included.
type header struct {
	key        string
	value      []byte // continuation lines joined by newlines, without their leading space
	lines      int    // 1 plus the continuation lines
	start, end int    // bytes in the object; end is after the last newline
}

// isReserved reports whether git allows a header only in one place, at the beginning of a commit.
func isReserved(key string) bool {
	return key == "tree" || key == "parent" || key == "author" || key == "committer"
}

// splitHeaders reads the headers of an object. It returns them and the bytes after the empty line.
func splitHeaders(raw []byte) ([]header, []byte, error) {
	if len(raw) > maxObject {
		return nil, nil, refuse(ReasonTooLarge, "got %d bytes, want at most %d", len(raw), maxObject)
	}
	var headers []header
	for at := 0; at < len(raw); {
		length := bytes.IndexByte(raw[at:], '\n')
		if length < 0 {
			break
		}
		line, end := raw[at:at+length], at+length+1
		switch {
		case length == 0:
			return headers, raw[end:], nil
		case bytes.IndexByte(line, 0) >= 0:
			return nil, nil, refuse(ReasonMalformed, "NUL byte among the headers")
		case len(headers) == maxHeaders && line[0] != ' ':
			return nil, nil, refuse(ReasonMalformed, "more than %d headers", maxHeaders)
		case line[0] == ' ' && len(headers) == 0:
			return nil, nil, refuse(ReasonMalformed, "object begins with a continuation line")
		case line[0] == ' ':
			last := &headers[len(headers)-1]
			last.value = append(append(last.value, '\n'), line[1:]...)
			last.lines++
			last.end = end
		default:
			key, value, found := bytes.Cut(line, []byte(" "))
			if !found { // an empty key would be a continuation line
				return nil, nil, refuse(ReasonMalformed, "header %q has no value", line)
			}
			headers = append(headers, header{key: string(key), value: bytes.Clone(value), lines: 1, start: at, end: end})
		}
		at = end
	}
	return nil, nil, refuse(ReasonMalformed, "no empty line after the headers")
}
