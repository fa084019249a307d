package proxmox

import (
	"errors"
	"fmt"
	"strings"

	"gitops-agent/reconcile/guest"
)

// pendingConfig is a guest's configuration as /pending returns it.
type pendingConfig struct {
	keys   map[string]guest.Value
	digest string
}

var errNoDigest = errors.New("reply has no digest")

// decodePending reads the reply of a /pending call: {"data":[{"key":…,"value":…,"pending":…,"delete":…},…]}. Values keep
// the text of Proxmox, also numbers. A reply that is truncated, has no digest or repeats a key is
// an error: it would otherwise look like a guest with fewer keys.
//
// It reads the bytes once, because a sweep decodes thousands of these replies. The texts share the memory of the reply.
func decodePending(body string) (pendingConfig, error) {
	c := &cursor{text: body}
	// Each row has one opening brace, and so does the whole reply. The row of the digest is not a key.
	config := pendingConfig{keys: make(map[string]guest.Value, max(0, strings.Count(body, "{")-2))}
	sawData := false
	err := c.object(func(field string) error {
		if field != "data" {
			_, err := c.skip()
			return err
		}
		sawData = true
		return c.array(func() error { return config.decodeRow(c) })
	})
	if err == nil {
		err = c.end()
	}
	switch {
	case err != nil:
		return pendingConfig{}, err
	case !sawData:
		return pendingConfig{}, errNoData
	case config.digest == "":
		return pendingConfig{}, errNoDigest
	}
	return config, nil
}

// decodeRow reads one key.
func (p *pendingConfig) decodeRow(c *cursor) error {
	var key string
	var value guest.Value
	err := c.object(func(field string) error {
		text, null, err := c.value()
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
			value.Delete = scalar(text).flag()
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case key == "":
		return errors.New("row without a key")
	case key == "digest":
		p.digest = value.Text
		return nil
	}
	if _, twice := p.keys[key]; twice {
		return fmt.Errorf("key %q appears twice", key)
	}
	p.keys[key] = value
	return nil
}
