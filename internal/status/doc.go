// Package status serves the report of the running agent over HTTP.
//
//	GET  /             a page for people; docs/status.md describes it and its parameters
//	GET  /guests/101   a page of one guest, also /guests/VirtualMachine/web-1
//	GET  /graph        a page of the dependencies of guests
//	GET  /events       server-sent events: the edition of each newer report
//	GET  /page.js      the script of the pages
//	GET  /status.json  the same report as a versioned JSON document (report.Document)
//	GET  /inventory.json  the guests as a dynamic inventory for Ansible; also /targets.json, for Prometheus' service discovery by HTTP
//	GET  /healthz      200 while the engine completes cycles: whether to restart the process
//	GET  /readyz       200 if the agent can do its work, else 503 with one line per reason
//	GET  /metrics      Prometheus metrics
//	POST /webhook      a request to poll the remote now, also /webhook/github, /webhook/gitea, /webhook/gitlab and /webhook/bitbucket
//
// Local answers the commands on the agent's host through a socket, with /status.json alone.
//
// All routes except the webhooks are read-only and show no secret. Package access decides who may read them. A webhook requires a secret of its own, or
// a signature with it, and ignores the content of the request; it can only make the agent poll earlier.
//
// The pages work without their script and load nothing from other hosts, which their Content-Security-Policy forbids. Text from the
// repository, the cluster and signers reaches the page only through html/template, which escapes it.
//
// The files, from the first that runs to the last:
//
//   - serve.go: Serve, the HTTP server with its timeouts; handler.go: Handler and Local, the routes; options.go: Options
//   - secure_handler.go: security headers, and panics as status 500
//   - page.go: the pages, which package page renders; events.go: streams that tell open pages of newer reports; document.go: /status.json; inventory.go: /inventory.json and /targets.json; probe.go: /healthz and /readyz
//   - webhook.go: the webhooks and their rate limit; webhook_forge.go: how requests of each forge prove that they know the secret
//
// The golden files in testdata show the page and the document for sample reports.
package status
