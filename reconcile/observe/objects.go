package observe

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// ReadObjects reads the objects of some kinds, all kinds at the same time. Reads has the ids that matter, by kind. A kind that could not be read has the error.
func ReadObjects(ctx context.Context, reader cluster.ObjectReader, reads map[guest.Kind][]string) map[guest.Kind]cluster.Objects {
	found := make(map[guest.Kind]cluster.Objects, len(reads))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for kind, ids := range reads {
		wg.Go(func() {
			began := time.Now()
			objects := cluster.Objects{Asked: ids, ReadAt: began}
			byID, err := reader.Objects(ctx, kind, ids)
			if err == nil && kind == cluster.HARules {
				objects.Balanced, err = reader.HABalances(ctx)
			}
			var unread *cluster.UnreadError
			switch objects.ByID = byID; {
			case errors.As(err, &unread):
				objects = withoutUnread(objects, unread)
			case err != nil:
				objects = cluster.Objects{Err: err.Error()}
			}
			mu.Lock()
			defer mu.Unlock()
			found[kind] = objects
		})
	}
	wg.Wait()
	return found
}

// withoutUnread returns a reading in which some of the objects that were asked for are not known.
func withoutUnread(objects cluster.Objects, unread *cluster.UnreadError) cluster.Objects {
	objects.Unread = make(map[string]string, len(unread.ByID))
	for id, err := range unread.ByID {
		objects.Unread[id] = err.Error()
	}
	objects.Asked = slices.DeleteFunc(slices.Clone(objects.Asked), func(id string) bool { return unread.ByID[id] != nil })
	return objects
}

// dueObjects returns the kinds that a round has to read: those that were not read within resync, those whose last reading failed, and those with an id that was not read. The configurations of
// storages seldom change, and the list of guests shows new ones.
func (o *Observer) dueObjects(reads map[guest.Kind][]string, now time.Time) map[guest.Kind][]string {
	maps.DeleteFunc(o.objects, func(kind guest.Kind, _ cluster.Objects) bool { return reads[kind] == nil })
	maps.DeleteFunc(o.parts, func(kind guest.Kind, _ map[string]time.Time) bool { return reads[kind] == nil })
	due := make(map[guest.Kind][]string)
	for kind, ids := range reads {
		last := o.objects[kind]
		isNew := func(id string) bool { return !slices.Contains(last.Asked, id) }
		within := o.resync
		if kind == cluster.Storages {
			ids = o.inventory.Capacity.StorageIDs()
			within *= firewallRounds
		}
		if last.Err != "" || now.Sub(last.ReadAt) >= within || slices.ContainsFunc(ids, isNew) {
			due[kind] = ids
		}
	}
	return due
}

// LearnObjects takes the readings of a round or of a lane that are newer than the observer's own. A failed reading keeps the objects of the one before, with the
// error.
func (o *Observer) LearnObjects(read map[guest.Kind]cluster.Objects) {
	if o.objects == nil && len(read) > 0 {
		o.objects = make(map[guest.Kind]cluster.Objects, len(read))
	}
	for kind, objects := range read {
		before := o.objects[kind]
		switch {
		case objects.Err != "":
			before.Err = objects.Err
			o.objects[kind] = before
		case objects.Part:
			o.learnPart(kind, objects)
		case !objects.ReadAt.Before(before.ReadAt):
			o.objects[kind] = o.withNewerParts(kind, objects, before)
		}
	}
}

// learnPart takes a reading of some objects of a kind, unless the kind was never read: then the next round reads it.
func (o *Observer) learnPart(kind guest.Kind, part cluster.Objects) {
	whole := o.objects[kind]
	if whole.ReadAt.IsZero() || part.ReadAt.Before(whole.ReadAt) {
		return
	}
	if o.parts == nil {
		o.parts = make(map[guest.Kind]map[string]time.Time)
	}
	if o.parts[kind] == nil {
		o.parts[kind] = make(map[string]time.Time)
	}
	whole.ByID = maps.Clone(whole.ByID)
	for _, id := range part.Asked {
		if !part.ReadAt.Before(o.parts[kind][id]) {
			o.parts[kind][id] = part.ReadAt
			whole = withObject(whole, id, part)
		}
	}
	o.objects[kind] = whole
}

// withNewerParts returns a reading of a kind in which objects that were read alone since are as they were before.
func (o *Observer) withNewerParts(kind guest.Kind, whole, before cluster.Objects) cluster.Objects {
	for id, at := range o.parts[kind] {
		if at.After(whole.ReadAt) {
			whole = withObject(whole, id, before)
		} else {
			delete(o.parts[kind], id)
		}
	}
	return whole
}

// withObject returns a reading in which one object is as in another reading.
func withObject(objects cluster.Objects, id string, from cluster.Objects) cluster.Objects {
	if !slices.Contains(objects.Asked, id) {
		objects.Asked = append(slices.Clone(objects.Asked), id)
	}
	if objects.ByID == nil {
		objects.ByID = make(map[string]cluster.Object)
	}
	if object, exists := from.ByID[id]; exists {
		objects.ByID[id] = object
	} else {
		delete(objects.ByID, id)
	}
	return objects
}
