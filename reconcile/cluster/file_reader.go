package cluster

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// FileReader reads the files on a storage that belong to no guest.
type FileReader interface {
	// Files lists the files at a place: their sizes in bytes, by the ids of their volumes.
	Files(ctx context.Context, at FilePlace) (map[string]int64, error)
}

// FilePlace is where a node keeps files of one content.
type FilePlace struct{ Node, Storage, Content string }

// FilePlaceOf returns where a node has the file with the id of a volume.
func FilePlaceOf(node, volume string) FilePlace {
	storage, path, _ := strings.Cut(volume, ":")
	content, _, _ := strings.Cut(path, "/")
	return FilePlace{Node: node, Storage: storage, Content: content}
}

// Compare orders places by node, storage and content.
func (p FilePlace) Compare(other FilePlace) int {
	return cmp.Or(strings.Compare(p.Node, other.Node), strings.Compare(p.Storage, other.Storage), strings.Compare(p.Content, other.Content))
}

// Files is the newest reading of a place.
type Files struct {
	Sizes  map[string]int64 // in bytes, by the ids of the volumes
	ReadAt time.Time        // zero if the place was never read
	Err    string           // why the newest reading failed; Sizes is older
}
