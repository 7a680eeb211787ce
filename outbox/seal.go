// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strconv"
)

// sealSize is what a record's checksum takes before its value, in bytes.
const sealSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal puts before a value the checksum of itself and its key.
func seal(key, value []byte) []byte {
	b := append(make([]byte, sealSize, sealSize+len(value)), value...)
	binary.BigEndian.PutUint32(b, sum(key, value))
	return b
}

func sum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

// unseal is the value of a record, nil if there is none, or a *recordError.
func unseal(bucket, key, sealed []byte) ([]byte, error) {
	if sealed == nil {
		return nil, nil
	}
	if len(sealed) < sealSize || binary.BigEndian.Uint32(sealed) != sum(key, sealed[sealSize:]) {
		return nil, &recordError{string(bucket), string(key)}
	}
	return sealed[sealSize:], nil
}

// putVersion writes the version of the file's layout, and what it is checked with.
func (t *tx) putVersion() {
	version := strconv.AppendInt(nil, formatVersion, 10)
	t.wrote(t.Bucket(metaBucket).Put(versionKey, version))
	t.put(metaBucket, versionSumKey, version)
}

// sealAll gives checksums to the records of a file of version 1, and to its heads the number of their channels.
func (t *tx) sealAll() {
	_, err := t.CreateBucketIfNotExists(asideBucket)
	t.wrote(err)
	t.put(metaBucket, idKey, bytes.Clone(t.Bucket(metaBucket).Get(idKey)))
	for _, name := range buckets {
		for _, k := range t.prefixed(name, nil, -1) {
			t.put(name, k, bytes.Clone(t.Bucket(name).Get(k)))
		}
	}
	for _, k := range t.prefixed(intentsBucket, nil, -1) {
		if bytes.IndexByte(k, 0) >= 0 {
			continue
		}
		if h, err := t.byID(string(k)); err == nil {
			h.Parts = len(t.prefixed(intentsBucket, channelKey(h.ID, ""), -1))
			h.Bodies = len(t.prefixed(bodiesBucket, channelKey(h.ID, ""), -1))
			t.putJSON(intentsBucket, k, h)
			t.put(orderBucket, h.orderKey(), h.tally())
		}
	}
	t.putVersion()
}
