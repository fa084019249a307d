package proxmox

import (
	"errors"
	"fmt"
	"strings"

	"gitops-agent/reconcile/guest"
)

// pendingConfig is a guest's configuration as /pending shows it.
type pendingConfig struct {
	keys   map[string]guest.Value
	digest string
}

var errNoDigest = errors.New("reply has no digest")

// decodePending reads the reply of a /pending call: {"data":[{"key":…,"value":…,"pending":…,"delete":…},…]}. Values keep
// the text that Proxmox printed, numbers included. A reply that is cut short, has no digest or repeats a key is
// an error: it would otherwise pass for a guest with fewer keys.
//
// It walks the bytes once. A sweep decodes thousands of these, and the texts share the memory of one string.
func decodePending(body string) (pendingConfig, error) {
	c := &cursor{text: body}
	// A row has a brace, and so has the whole; the digest's is no key.
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
			pending := text // of its own: the address of text would cost every value an allocation
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
		return fmt.Errorf("key %q is there twice", key)
	}
	p.keys[key] = value
	return nil
}
