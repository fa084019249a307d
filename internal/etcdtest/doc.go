// Package etcdtest runs real etcd processes for tests, and proxies that disturb the connections to them. It needs the program etcd.
package etcdtest
