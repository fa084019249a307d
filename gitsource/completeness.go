package gitsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
)

// A link is an object that another one names.
type link struct {
	hash plumbing.Hash
	typ  plumbing.ObjectType // AnyObject if only reading the object shows its type
}

// errIncomplete means that the pack of a remote leads to objects that are neither in the pack nor in the store.
var errIncomplete = errors.New("incomplete history")

// checkComplete returns errIncomplete unless every object that the pack's objects name is in the pack or in the store. The
// store was complete before, so it stays complete: an incomplete history never enters the store.
func checkComplete(ctx context.Context, p *pack, st *store) error {
	known := make(map[plumbing.Hash]bool) // objects that are in the store, as found before
	for _, o := range p.objects {
		if o.typ == plumbing.BlobObject {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		obj, err := p.object(o)
		if err != nil {
			return err
		}
		raw, err := readBody(obj, o.hash)
		if err != nil {
			return fmt.Errorf("unpack %s %s: %w", o.typ, o.hash, err)
		}
		for _, l := range links(o.typ, raw) {
			if known[l.hash] || p.has(l.hash) {
				continue
			}
			if !st.has(l.hash) {
				return fmt.Errorf("%w: %s %s names %s, which the remote did not send", errIncomplete, o.typ, o.hash, l.hash)
			}
			known[l.hash] = true
		}
	}
	return nil
}

// links returns the objects that an object names. For a malformed object it returns those that can be read. The code that
// uses the object decides whether to accept it.
func links(typ plumbing.ObjectType, raw []byte) []link {
	var found []link
	add := func(typ plumbing.ObjectType, ids []ID) {
		for _, id := range ids {
			found = append(found, link{id.hash(), typ})
		}
	}
	switch typ { //nolint:exhaustive // blobs name no objects, and the other values are not object types
	case plumbing.CommitObject:
		add(plumbing.TreeObject, headerIDs(raw, "tree"))
		add(plumbing.CommitObject, headerIDs(raw, "parent"))
	case plumbing.TagObject:
		add(plumbing.AnyObject, headerIDs(raw, "object"))
	case plumbing.TreeObject:
		return treeLinks(raw)
	}
	return found
}

// treeLinks returns the objects that a tree names. It is less strict than parseTree, because old trees in git histories can
// have modes and an order that parseTree refuses.
func treeLinks(raw []byte) []link {
	var found []link
	for {
		nul := bytes.IndexByte(raw, 0)
		if nul < 0 || len(raw) < nul+21 {
			return found
		}
		mode, _, _ := bytes.Cut(raw[:nul], []byte{' '})
		l := link{typ: plumbing.BlobObject}
		copy(l.hash[:], raw[nul+1:])
		switch string(bytes.TrimLeft(mode, "0")) {
		case modeDir:
			l.typ = plumbing.TreeObject
		case modeSubmodule: // a commit of another repository
			l.typ = plumbing.InvalidObject
		}
		if l.typ != plumbing.InvalidObject {
			found = append(found, l)
		}
		raw = raw[nul+21:]
	}
}
