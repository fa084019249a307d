package reply

import (
	"errors"
	"fmt"
	"strings"

	"gitops-agent/internal/bounds"
	"gitops-agent/reconcile/guest"
)

// Config is a guest's configuration as /pending returns it.
type Config struct {
	Keys   map[string]guest.Value
	Digest string
}

// MaxPending is the most bytes of a reply: the file of a guest has at most 1 MiB, and some kilobytes in practice.
const MaxPending = 1 << 20

const maxKeys = 2048 // of a guest: Proxmox defines some hundred

// ErrNoDigest is the error of a configuration without a digest: a write could not be guarded against changes in between.
var ErrNoDigest = errors.New("reply has no digest")

// DecodePending reads the reply of a /pending call: {"data":[{"key":…,"value":…,"pending":…,"delete":…},…]}. Values keep
// the text of Proxmox, also numbers. A reply that is truncated, has no digest or repeats a key is
// an error: it would otherwise look like a guest with fewer keys. So is one of more than 1 MiB or 2,048 keys.
//
// It reads the bytes once, because a sweep decodes thousands of these replies. The texts share the memory of the reply.
func DecodePending(body string) (Config, error) {
	if len(body) > MaxPending {
		return Config{}, fmt.Errorf("%d bytes: %w of %d bytes", len(body), bounds.ErrExceeded, MaxPending)
	}
	c := &Cursor{Text: body}
	// In a text, such as the notes of a guest, the quotation marks are escaped: only rows count. The row of the digest is not a key.
	config := Config{Keys: make(map[string]guest.Value, min(max(0, strings.Count(body, keyOfRow)-1), maxKeys))}
	sawData := false
	err := c.Object(func(field string) error {
		if field != "data" {
			_, err := c.Skip()
			return err
		}
		sawData = true
		return c.Array(func() error { return config.decodeRow(c) })
	})
	if err == nil {
		err = c.End()
	}
	switch {
	case err != nil:
		return Config{}, err
	case !sawData:
		return Config{}, ErrNoData
	case config.Digest == "":
		return Config{}, ErrNoDigest
	}
	return config, nil
}

// keyOfRow is in each row of a reply, as Proxmox writes it. It is only counted for the size of a map.
const keyOfRow = `"key":`

// decodeRow reads one key.
func (p *Config) decodeRow(c *Cursor) error {
	var key string
	var value guest.Value
	err := c.Object(func(field string) error {
		text, null, err := c.Value()
		if err != nil || null {
			return err
		}
		switch field {
		case "key":
			key = text
		case "value":
			value.Text, value.Set = text, true
		case "pending":
			pending := text // a copy: taking the address of text would cost an allocation for every value
			value.Pending = &pending
		case "delete": // 1, or 2 for a forced one
			value.Delete = Scalar(text).Flag()
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case key == "":
		return errors.New("row without a key")
	case key == "digest":
		p.Digest = value.Text
		return nil
	}
	if _, twice := p.Keys[key]; twice {
		return fmt.Errorf("key %q appears twice", key)
	}
	if len(p.Keys) == maxKeys {
		return fmt.Errorf("keys of one guest: %w of %d", bounds.ErrExceeded, maxKeys)
	}
	p.Keys[key] = value
	return nil
}
