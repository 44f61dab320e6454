import { expect, test } from 'bun:test';
import { addressMatcher, isLoopback, isPrivateAddress, parseAddress, parseNetwork } from './addresses.ts';

test.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])('%s is loopback', (address) => {
  expect(isLoopback(address)).toBe(true);
});

test.each([
  '10.0.0.1',
  '172.16.5.4',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '0.0.0.0',
  '100.64.0.1',
  '::1',
  '::',
  'fd00:ec2::254',
  'fe80::1',
  '64:ff9b::a00:1',
  '::ffff:10.0.0.1',
  '2002:a00:1::',
  '255.255.255.255',
  'not-an-address',
  '',
])('%s is not the public internet', (address) => {
  expect(isPrivateAddress(address)).toBe(true);
});

test.each(['8.8.8.8', '172.32.0.1', '1.1.1.1', '2606:4700::1111'])('%s is public', (address) => {
  expect(isPrivateAddress(address)).toBe(false);
});

test('a proxy is trusted by address or by range, in both families, and nothing else is', () => {
  const trusted = addressMatcher(['10.1.0.0/16', '192.0.2.7', 'fd00::/8']);
  for (const address of ['10.1.2.3', '192.0.2.7', '::ffff:10.1.2.3', 'fd12::1'])
    expect(trusted(address)).toBe(true);
  for (const address of ['10.2.0.1', '192.0.2.8', 'fe80::1', 'x']) expect(trusted(address)).toBe(false);
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  [' 192.0.2.1 ', '192.0.2.1'],
  ['192.0.2.1:443', '192.0.2.1'],
  ['[2001:DB8::1]:443', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['2001:0db8:0000::0001', '2001:db8::1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['[::ffff:c000:201]:80', '192.0.2.1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['2001:db8::1:443', '2001:db8::1:443'],
])('%s is the address %s', (text, address) => {
  expect(parseAddress(text)).toBe(address);
});

test.each([
  '',
  'unknown',
  '_hidden',
  'for=192.0.2.1',
  '192.0.2.1:x',
  '192.0.2.1:',
  '192.0.2.256',
  '[192.0.2',
  '[]',
  '1.2.3',
  '192.0.2.1, 192.0.2.2',
])('%j is no address', (text) => {
  expect(parseAddress(text)).toBeUndefined();
});

test.each([
  ['192.0.2.0/24', '192.0.2.0/24'],
  ['192.0.2.77/024', '192.0.2.77/24'],
  ['192.0.2.1', '192.0.2.1'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['2001:0DB8::/32', '2001:db8::/32'],
  ['::ffff:192.0.2.0/120', '192.0.2.0/24'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
])('%s is the network %s', (text, network) => {
  expect(parseNetwork(text)).toBe(network);
});

test.each([
  'fe80::1%eth0',
  'fe80::%eth0/64',
  '192.0.2.0/33',
  '2001:db8::/129',
  '::ffff:192.0.2.0/24',
  '192.0.2.0/-1',
  '192.0.2.0/',
  '192.0.2.0/8/8',
  '[2001:db8::1]:443',
  'example.org',
  '',
])('%j is no network', (text) => {
  expect(parseNetwork(text)).toBeUndefined();
});
