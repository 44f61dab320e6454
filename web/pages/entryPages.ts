/** What somebody without a session sees. */
export { default as ForgotPasswordPage } from './auth/ForgotPasswordPage.tsx';
export { default as PublicPage } from './public/PublicPage.tsx';
export { default as ResetPasswordPage } from './auth/ResetPasswordPage.tsx';
export { default as SignInPage } from './auth/SignInPage.tsx';
export { default as SignUpPage } from './auth/SignUpPage.tsx';
export { default as VerifyEmailPage } from './auth/VerifyEmailPage.tsx';
