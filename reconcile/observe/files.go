package observe

import (
	"context"
	"slices"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
)

// maxFileReads is how many places are read at the same time.
const maxFileReads = 4

// ReadFiles reads the files at some places. A place that could not be read has the error.
func ReadFiles(ctx context.Context, reader cluster.FileReader, places []cluster.FilePlace) map[cluster.FilePlace]cluster.Files {
	found := make(map[cluster.FilePlace]cluster.Files, len(places))
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxFileReads)
	for _, at := range places {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			files := readPlace(ctx, reader, at)
			mu.Lock()
			defer mu.Unlock()
			found[at] = files
		})
	}
	wg.Wait()
	return found
}

// readPlace reads the files at one place.
func readPlace(ctx context.Context, reader cluster.FileReader, at cluster.FilePlace) cluster.Files {
	began := time.Now()
	sizes, err := reader.Files(ctx, at)
	if err != nil {
		return cluster.Files{Err: err.Error()}
	}
	return cluster.Files{Sizes: sizes, ReadAt: began}
}

// duePlaces returns the places that a round has to read: those that were not read within resync, and those that a lane changed.
func (o *Observer) duePlaces(places []cluster.FilePlace, now time.Time) []cluster.FilePlace {
	for at := range o.files {
		if !slices.Contains(places, at) {
			delete(o.files, at)
		}
	}
	var due []cluster.FilePlace
	for _, at := range places {
		if f := o.files[at]; f.Err != "" || now.Sub(f.ReadAt) >= o.resync {
			due = append(due, at)
		}
	}
	return due
}

// LearnFiles takes the readings of a round or of a lane that are newer than the observer's own. A failed reading keeps the files of the one before, with the error.
func (o *Observer) LearnFiles(read map[cluster.FilePlace]cluster.Files) {
	if o.files == nil && len(read) > 0 {
		o.files = make(map[cluster.FilePlace]cluster.Files, len(read))
	}
	for at, files := range read {
		before := o.files[at]
		switch {
		case files.Err != "":
			before.Err = files.Err
			o.files[at] = before
		case !files.ReadAt.Before(before.ReadAt):
			o.files[at] = files
		}
	}
}
