// Package status serves the report of the running agent over HTTP.
//
//	GET  /             a page for people
//	GET  /status.json  the same report as a versioned JSON document (report.Document)
//	GET  /healthz      200 while the engine completes cycles: whether to restart the process
//	GET  /readyz       200 if the agent can do its work, else 503 with one line per reason
//	GET  /metrics      Prometheus metrics
//	POST /webhook      a request from the forge to poll the remote now
//
// All routes except the webhook are read-only, need no password and show no secret. Bind the listener to the loopback address, or put a
// proxy that authenticates users before it. The webhook requires a token, and ignores the content of the request; it can only make the
// agent poll earlier.
//
// The page works without scripts and loads nothing from other hosts, and its Content-Security-Policy forbids both. Text from the
// repository, the cluster and signers reaches the page only through html/template, which escapes it.
//
// The files, from the first that runs to the last:
//
//   - serve.go: Serve, the HTTP server with its timeouts; handler.go: Handler, the routes; options.go: Options
//   - secure_handler.go: security headers, and panics as status 500
//   - page.go, page.html, page.css: the page; document.go: /status.json; probe.go: /healthz and /readyz
//   - webhook.go, token_bucket.go: the webhook and its rate limit
//   - view.go: what page.html prints, as values; guest_view.go: one guest; notice.go: the messages above the table
//   - badge.go, time_view.go, text.go: words with colours, times, and small texts
//
// The golden files in testdata show the page and the document for four sample reports.
package status
