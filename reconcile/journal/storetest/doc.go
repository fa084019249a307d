// Package storetest is the contract of the places in which a journal can be, as tests: files and etcd pass the same ones. [Memory] is a service in memory
// for tests that need no etcd.
package storetest
