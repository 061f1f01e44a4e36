// A proxy before an object store that counts requests and delays each by a fixed time.
//
// Usage: store_proxy BACKEND_PORT PORT. `GET /-/counts` returns the number of requests by method as
// JSON and counts from zero; `GET /-/delay?ms=20` sets the delay. All else is forwarded unchanged,
// with the client's own Host header, which signatures contain.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"net/http/httputil"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	backend, port := os.Args[1], os.Args[2]
	var delayMs atomic.Int64
	var lock sync.Mutex
	counts := map[string]int{}

	forward := &httputil.ReverseProxy{
		Director: func(request *http.Request) {
			request.URL.Scheme = "http"
			request.URL.Host = "127.0.0.1:" + backend
		},
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 256,
			DisableCompression:  true,
		},
		ErrorLog: log.Default(),
	}
	handler := func(answer http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/-/counts":
			lock.Lock()
			defer lock.Unlock()
			if json.NewEncoder(answer).Encode(counts) == nil {
				counts = map[string]int{}
			}
		case "/-/delay":
			ms, err := strconv.ParseInt(request.URL.Query().Get("ms"), 10, 64)
			if err != nil {
				http.Error(answer, err.Error(), http.StatusBadRequest)
				return
			}
			delayMs.Store(ms)
		default:
			kind := request.Method
			if kind == http.MethodGet && request.URL.Query().Has("list-type") {
				kind = "LIST"
			}
			lock.Lock()
			counts[kind]++
			lock.Unlock()
			time.Sleep(time.Duration(delayMs.Load()) * time.Millisecond)
			forward.ServeHTTP(answer, request)
		}
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(handler)))
}
