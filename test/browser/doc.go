// Package browser tests the status page in a real browser: the pages of internal/status, served over TCP, in a headless Chromium. axe-core checks the
// accessibility of each page.
//
// The tests have the build tag integration. They need Chromium and the package axe-core of npm, which package.json and package-lock.json pin:
//
//	apt-get install chromium npm
//	npm ci --prefix test/browser
//
// # Types, in order of use
//
//   - fleet (fleet_test.go) makes the report, the history and the configurations of a cluster of any size, with every kind of problem.
//   - server (server_test.go) serves a report as the agent does, and replaces the report while pages are open.
//   - tab (tab_test.go) is a tab of the browser that all tests share. It fails its test if the page breaks its Content-Security-Policy, logs an error
//     or asks for something that it does not get.
//
// The pictures of the documents are made by TestPictures:
//
//	go test -tags integration ./test/browser -run TestPictures -update
package browser
