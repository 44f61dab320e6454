/** A self-signed certificate with its key, as PEM. */
export async function certificateFor(
  address: string,
  { from, until }: { readonly from: number; readonly until: number },
): Promise<{ readonly cert: string; readonly key: string }> {
  await import('reflect-metadata');
  const { PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } =
    await import('@peculiar/x509');
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=gate.example.com',
    notBefore: new Date(from),
    notAfter: new Date(until),
    signingAlgorithm: algorithm,
    keys,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'ip', value: address }])],
  });
  const key = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { cert: certificate.toString('pem'), key: PemConverter.encode(key, 'PRIVATE KEY') };
}
