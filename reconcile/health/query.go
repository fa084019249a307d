package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"gitops-agent/internal/bounds"
)

// Query is an instant query to a Prometheus. It passes if its result has values and none of them is 0. The zero value asks nothing.
type Query struct {
	Server string // "http://10.0.0.9:9090"
	Text   string // in PromQL
}

// The bounds of an answer.
const (
	maxAnswer = 1 << 20 // bytes
	maxValues = 10_000
)

// limits are those of an answer with so many values, each with some labels.
var limits = bounds.JSON{Bytes: maxAnswer, Values: 50 * maxValues, Elements: maxValues + 1, Depth: 16}

// checkQuery asks a Prometheus. Its address must be allowed like any other, and a redirect is not followed.
func (p *Prober) checkQuery(ctx context.Context, q Query) error {
	address := strings.TrimRight(q.Server, "/") + "/api/v1/query?" + url.Values{"query": {q.Text}}.Encode()
	var answer answer
	err := p.get(ctx, address, func(reply *http.Response) error {
		body, err := io.ReadAll(io.LimitReader(reply.Body, maxAnswer+1))
		switch {
		case err != nil:
			return err
		case len(body) > maxAnswer:
			return fmt.Errorf("the answer has more than %d bytes", maxAnswer)
		case limits.Unmarshal(body, &answer) != nil || answer.Status != "success":
			return errors.New("got no answer of a Prometheus")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return answer.check()
}

// answer is the part of an answer that is read. https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries
type answer struct {
	Status string `json:"status"`
	Data   struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	} `json:"data"`
}

// sample is a time and a value.
type sample [2]any

// check returns why the values do not pass.
func (a answer) check() error {
	var samples []sample
	switch a.Data.Type {
	case "vector":
		var vector []struct {
			Value sample `json:"value"`
		}
		if err := limits.Unmarshal(a.Data.Result, &vector); err != nil {
			return errors.New("the vector cannot be read")
		}
		for _, v := range vector {
			samples = append(samples, v.Value)
		}
	case "scalar":
		var one sample
		if err := limits.Unmarshal(a.Data.Result, &one); err != nil {
			return errors.New("the scalar cannot be read")
		}
		samples = append(samples, one)
	default:
		return fmt.Errorf("got a result of the type %q, want a vector or a scalar", a.Data.Type)
	}
	switch {
	case len(samples) == 0:
		return errors.New("the result of the query is empty")
	case len(samples) > maxValues:
		return fmt.Errorf("the result has %d values, want at most %d", len(samples), maxValues)
	}
	failed := 0
	for _, s := range samples {
		text, _ := s[1].(string)
		if value, err := strconv.ParseFloat(text, 64); err != nil || value == 0 || value != value { //nolint:gocritic // only NaN differs from itself
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d values are 0 or no number", failed, len(samples))
	}
	return nil
}
