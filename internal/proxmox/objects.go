package proxmox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/object"
)

// Objects reads the objects of a kind, as the kind says. With a cluster.UnreadError it also returns those that were read.
func (r *Reader) Objects(ctx context.Context, name guest.Kind, ids []string) (map[string]cluster.Object, error) {
	if name == cluster.Storages {
		list, err := kind.ReadStorages(ctx, r.getPath)
		return byID(list), err
	}
	k, known := kinds.Of(name)
	if !known {
		return nil, fmt.Errorf("read objects of the kind %s: there is no such kind", name)
	}
	objects, err := k.Read(ctx, r.getPath, ids)
	var unread *cluster.UnreadError
	if err != nil {
		err = fmt.Errorf("read %s: %w", k.Plural, err)
		if !errors.As(err, &unread) {
			return nil, err
		}
	}
	return byID(objects), err
}

func byID(list []cluster.Object) map[string]cluster.Object {
	objects := make(map[string]cluster.Object, len(list))
	for _, o := range list {
		objects[o.ID] = o
	}
	return objects
}

// CheckObject reads what forbids an operation on an object, as its kind says.
func (r *Reader) CheckObject(ctx context.Context, op cluster.Op, name guest.Kind, id string, first object.Key) error {
	k, known := kinds.Of(name)
	if !known || k.Check == nil {
		return nil
	}
	err := k.Check(ctx, kind.Reader{Get: r.getPath, First: first}, kind.Change{Op: op, ID: id})
	if err != nil && !cluster.IsUsed(err) {
		return fmt.Errorf("read what uses the %s %s: %w", k.Noun, id, err)
	}
	return err
}

// getPath reads a path for a kind.
func (r *Reader) getPath(ctx context.Context, route, path string) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, r, &wire.Exchange{Route: route, Path: path})
}
