// Package promtest reads a real Prometheus in tests, and the rules and dashboards that the project ships.
//
//   - Client evaluates queries.
//   - RuleFile is a file of rules. WriteScaled writes the shipped ones with shorter times, so that an alert fires within seconds of its cause.
//   - Dashboard is a dashboard; Substitute fills the variables of its queries.
package promtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Client reads from a Prometheus.
type Client struct {
	URL string // without a path
}

// Sample is one series of a reply.
type Sample struct {
	Metric map[string]string
	Points []Point
}

// Point is one value of a series.
type Point struct {
	Time  float64 // Unix seconds
	Value float64
}

// Get reads from the API of Prometheus. An error is that of the query.
func (c Client) Get(path string, params url.Values, into any) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, c.URL+path+"?"+params.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var reply struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	if reply.Status != "success" {
		return fmt.Errorf("%s: %s", resp.Status, reply.Error)
	}
	return json.Unmarshal(reply.Data, into)
}

// At evaluates an expression at a time.
func (c Client) At(expr string, when time.Time) ([]Sample, error) {
	return c.evaluate("/api/v1/query", url.Values{"query": {expr}, "time": {Seconds(when)}})
}

// Over evaluates an expression for each second between two times.
func (c Client) Over(expr string, from, to time.Time) ([]Sample, error) {
	return c.evaluate("/api/v1/query_range", url.Values{"query": {expr}, "start": {Seconds(from)}, "end": {Seconds(to)}, "step": {"1"}})
}

func (c Client) evaluate(path string, params url.Values) ([]Sample, error) {
	var reply struct {
		Result []struct {
			Metric map[string]string
			Value  rawPoint
			Values []rawPoint
		}
	}
	if err := c.Get(path, params, &reply); err != nil {
		return nil, fmt.Errorf("%s: %w", params.Get("query"), err)
	}
	list := make([]Sample, len(reply.Result))
	for i, r := range reply.Result {
		list[i].Metric = r.Metric
		for _, v := range r.Values {
			list[i].Points = append(list[i].Points, Point(v))
		}
		if r.Values == nil {
			list[i].Points = []Point{Point(r.Value)}
		}
	}
	return list, nil
}

// rawPoint is a point as Prometheus writes it: [seconds, "value"].
type rawPoint Point

func (r *rawPoint) UnmarshalJSON(text []byte) error {
	var value string
	if err := json.Unmarshal(text, &[]any{&r.Time, &value}); err != nil {
		return err
	}
	number, err := strconv.ParseFloat(value, 64)
	r.Value = number
	return err
}

// Seconds writes a time as the API reads it.
func Seconds(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
