package packs

import (
	"container/list"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	maxCached  = 1 << 20  // bytes of one object in the cache
	cacheBytes = 16 << 20 // of all objects in the cache
)

// A cache has the objects that were unpacked last: they are often the bases of the next ones. The zero value is empty.
type cache struct {
	found map[place]*list.Element
	order *list.List // of *kept; the one that was used last is the first
	bytes int
}

type place struct {
	pack   *pack
	offset int64
}

// cached is an unpacked object. Its content must not be changed.
type cached struct {
	typ     plumbing.ObjectType
	content []byte
}

type kept struct {
	place
	cached
}

func (c *cache) get(p *pack, offset int64) (cached, bool) {
	e, found := c.found[place{p, offset}]
	if !found {
		return cached{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*kept).cached, true
}

func (c *cache) put(p *pack, offset int64, object cached) {
	if c.found == nil {
		c.found, c.order = map[place]*list.Element{}, list.New()
	}
	at := place{p, offset}
	if _, found := c.found[at]; found {
		return
	}
	c.found[at] = c.order.PushFront(&kept{at, object})
	for c.bytes += cost(object); c.bytes > cacheBytes; {
		oldest := c.order.Back()
		k := c.order.Remove(oldest).(*kept)
		c.bytes -= cost(k.cached)
		delete(c.found, k.place)
	}
}

// cost is the memory of an object with its entries in the cache, in bytes.
func cost(object cached) int { return len(object.content) + 200 }
