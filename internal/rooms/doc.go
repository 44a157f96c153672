// Package rooms keeps the packages of this module in their places. It knows which room may import which, finds the
// imports that go against it, and draws the rooms with the arrows that are really there: docs/rooms.svg.
//
// Only its test runs it. A new package belongs to the room whose path begins its own; a new room is one more entry of
// [All] and a new picture:
//
//	go test ./internal/rooms -update
package rooms
