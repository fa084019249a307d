package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
)

// Collection is a list of objects in the API: POST to its path makes an object, and PUT and DELETE of the path with the id change and remove it.
type Collection struct {
	Path string // "/cluster/backup"
	ID   string // the parameter with the id of a new object, and the variable in the path of one: "id"
}

// Item returns the path of an object, and the route.
func (c Collection) Item(id string) (route, path string) {
	return c.Path + "/{" + c.ID + "}", c.Path + "/" + url.PathEscape(id)
}

// Read returns the rows of the list as objects.
func (c Collection) Read(ctx context.Context, get Get, observed func(Row) cluster.Object) ([]cluster.Object, error) {
	rows, err := ReadRows(ctx, get, c.Path, c.Path)
	if err != nil {
		return nil, err
	}
	var objects []cluster.Object
	for _, row := range rows {
		objects = append(objects, observed(row))
	}
	return objects, nil
}

// ReadEach returns the objects of ids with the list that each of them contains, or all objects without ids. Comment is the key of their comments, and contained
// sets the key and the digest of the list. Ids are compared without case, and are in lower case.
func (c Collection) ReadEach(ctx context.Context, get Get, ids []string, comment string, contained func(o *cluster.Object, rows []Row) error) ([]cluster.Object, error) {
	list, err := ReadRows(ctx, get, c.Path, c.Path)
	if err != nil {
		return nil, err
	}
	var objects []cluster.Object
	for _, row := range list {
		o := cluster.Object{ID: strings.ToLower(row.Text(c.ID)), Keys: make(map[string]string)}
		if len(ids) > 0 && !slices.Contains(ids, o.ID) {
			continue
		}
		if text := row.Text(comment); text != "" {
			o.Keys[comment] = text
		}
		route, path := c.Item(o.ID)
		rows, err := ReadRows(ctx, get, route, path)
		if err == nil {
			err = contained(&o, rows)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.ID, err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// Encode returns the request of a call.
func (c Collection) Encode(call cluster.Call) Request {
	r := Request{Method: Method(call.Op), Params: map[string]string{}}
	r.Route, r.Path = c.Item(call.Object)
	if call.Op == cluster.OpObjectRemove {
		return r
	}
	maps.Copy(r.Params, call.Params)
	if len(call.Delete) > 0 {
		r.Params["delete"] = strings.Join(call.Delete, ",")
	}
	if call.Op == cluster.OpObjectAdd {
		r.Route, r.Path = c.Path, c.Path
		r.Params[c.ID] = call.Object
	}
	return r
}

// EncodeRenaming returns the request of a call to a collection of the firewall in which POST also changes an object, if the parameter rename has its id. It
// refuses texts that would begin another line of the file.
func (c Collection) EncodeRenaming(call cluster.Call) (Request, error) {
	for key, text := range call.Params {
		if strings.ContainsAny(text, "\r\n") {
			return Request{}, fmt.Errorf("%s contains a line break, which would begin another line of the firewall", key)
		}
	}
	if call.Op != cluster.OpObjectSet {
		return c.Encode(call), nil
	}
	call.Op = cluster.OpObjectAdd
	r := c.Encode(call)
	r.Params["rename"] = call.Object
	return r, nil
}

// Unlisted returns the ids that are not among objects: those about which a kind asks one by one, because a list may lack them.
func Unlisted(ids []string, listed []cluster.Object) []string {
	isListed := make(map[string]bool, len(listed))
	for _, o := range listed {
		isListed[o.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return isListed[id] })
}

// ReadUnlisted reads each of the objects of ids that a list leaves out, and returns it with the list. An object that the token may not read is an entry of the
// cluster.UnreadError; any other error ends the reading, since it would be that of each object.
func ReadUnlisted(ids []string, list []cluster.Object, one func(id string) (o cluster.Object, exists bool, err error)) ([]cluster.Object, error) {
	unread := &cluster.UnreadError{ByID: make(map[string]error)}
	for _, id := range Unlisted(ids, list) {
		o, exists, err := one(id)
		switch {
		case errors.Is(err, cluster.ErrDenied):
			unread.ByID[id] = err
		case err != nil:
			return nil, err
		case exists:
			list = append(list, o)
		}
	}
	if len(unread.ByID) > 0 {
		return list, unread
	}
	return list, nil
}

// ReadRows reads a path whose data is a list.
func ReadRows(ctx context.Context, get Get, route, path string) ([]Row, error) {
	data, err := get(ctx, route, path)
	if err != nil {
		return nil, err
	}
	return Rows(data)
}
