package reply

import (
	"errors"
	"fmt"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Config is a guest's configuration as /pending returns it.
type Config struct {
	Keys   map[string]guest.Value
	Digest string
}

// ErrNoDigest is the error of a configuration without a digest: a write could not be guarded against changes in between.
var ErrNoDigest = errors.New("reply has no digest")

// DecodePending reads the reply of a /pending call: {"data":[{"key":…,"value":…,"pending":…,"delete":…},…]}. Values keep
// the text of Proxmox, also numbers. A reply that is truncated, has no digest or repeats a key is
// an error: it would otherwise look like a guest with fewer keys.
//
// It reads the bytes once, because a sweep decodes thousands of these replies. The texts share the memory of the reply.
func DecodePending(body string) (Config, error) {
	c := &Cursor{Text: body}
	// Each row has one opening brace, and so does the whole reply. The row of the digest is not a key.
	config := Config{Keys: make(map[string]guest.Value, max(0, strings.Count(body, "{")-2))}
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
	p.Keys[key] = value
	return nil
}
