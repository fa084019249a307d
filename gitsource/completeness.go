package gitsource

import (
	"bytes"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"
)

// A link is an object that another one names.
type link struct {
	hash plumbing.Hash
	typ  plumbing.ObjectType // AnyObject if only reading the object shows its type
}

// errIncomplete means that the pack of a remote leads to objects that are neither in the pack nor in the store.
var errIncomplete = errors.New("incomplete history")

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
